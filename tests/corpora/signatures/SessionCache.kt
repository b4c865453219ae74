@file:JvmName("Sessions")

package com.example.cache

import kotlin.time.Duration

const val MAX_ENTRIES = 10_000
private val log: Logger by lazy { Logger("class Fake { fun no() { } }") }
var counter = 0
    private set
val (low, high) = 1 to 2
typealias Handler<T> = suspend (T, Int) -> Unit

/** Loads one session. */
@Throws(IOException::class)
suspend inline fun <reified T : Any, R> load(
    id: String, // which
    vararg keys: Int = intArrayOf(1),
    /* what to do */ noinline block: suspend T.(R) -> Unit = { println("}") },
): List<T> where T : Comparable<T>, R : Closeable {
    val local = 1
    fun inner(x: Int) = x + local
    class Local { fun go() { } }
    return emptyList()
}

fun String.shout(): String = uppercase()
fun <T> List<T>?.orEmpty2(): List<T> = this ?: emptyList()
operator fun Session.plus(other: Session) = Session("x")
infix fun Int.until2(to: Int): IntRange = this..to
val String.lastChar: Char
    get() = this[length - 1]
tailrec fun `finds the fix point`(x: Double = 1.0): Double = if (x == 0.0) x else `finds the fix point`(0.0)
fun nothing() = Unit

/**
 * A session.
 * @property id its number
 */
@Serializable
data class Session<out T : Any>(
    @Json("id") val id: String,
    private var name: String = "x { y",
    val payload: T? = null,
) : Base<T>(id), Named by Delegate(id), Closeable {
    constructor(id: Int) : this(id.toString()) {
        println(id)
    }

    init {
        val started = 1
    }

    @Inject lateinit var repo: Repo
    @get:Rule val rule = TestRule()
    override val size: Int get() = 1
    var level: Int = 0
        set(value) {
            field = value
        }
    val codes = mapOf("one" to 1, "two" to 2, "three" to 3, "four" to 4, "five" to 5)
    protected val lazyName by lazy { name }
    private val listener = object : Listener {
        val heard = 1
        override fun on(event: Event) { }
    }
    val onClose: (Int) -> Unit = { code -> println(code) }

    // Closes it.
    override fun close() { }
    abstract fun find(key: String): T?
    @Deprecated("use find", ReplaceWith("find(key)")) internal open fun <K> get(key: K): T? = null
    operator fun get(index: Int) = payload

    companion object {
        const val TAG = "Session"
        @JvmStatic fun create(): Session<String> = Session("x")
    }

    inner class Entry(val key: String) { fun drop() { } }
    object None : Runnable { override fun run() { } }
}

class Registry { companion object Factory : Maker { fun make() = Registry() } }

enum class State(val code: Int) : Labelled {
    OPEN(1) { override fun label() = "open" },
    CLOSED(2);

    abstract fun label(): String
    val isOpen = code == 1
    companion object { fun of(code: Int) = OPEN }
}

enum class Empty { A, B }
sealed interface Shape { val area: Double; fun draw(); fun scale(by: Int = 2) { } }
fun interface Predicate<T> { fun test(value: T): Boolean }
sealed class Outcome<out T> {
    data class Ok<T>(val value: T) : Outcome<T>()
    data object Failed : Outcome<Nothing>()
}
annotation class Audited(val by: String = "")
@JvmInline value class Id(val value: String)
abstract class Guarded @Inject protected constructor(x: Int) : Base(x) { protected abstract val mode: Int }
object Clock { private val zone = "UTC"; fun now() = 0L }
expect fun platform(): String
external fun handle(x: Int): Long
class Marker
