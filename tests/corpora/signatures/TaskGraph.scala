package com.example.graph

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}

/** A graph of tasks.
  *
  * Not thread-safe.
  */
@deprecated("use Plan", "2.0")
abstract class TaskGraph[K <: Comparable[K], +V](val root: K, private var limit: Int = 1)(implicit ec: ExecutionContext)
    extends Base[K](root)
    with Closeable {
  val Max = 10
  private[graph] var low, high: Int = 1
  lazy val cache: mutable.Map[K, List[K]] = mutable.Map.empty
  val (first, last) = (1, 2)
  val text = "class Fake { def no() = 1 }"
  type Edge = (K, K)
  type Node <: AnyRef
  val empty: Int
  implicit val order: Ordering[K] = ???
  val listener = new Listener { def on(event: Event): Unit = () }
  val double = (x: Int) => x * 2

  def this(root: K, names: String*) = this(root, names.size)

  /** Finds one. */
  @inline @throws[IOException]("never") final def find(key: K): Option[V]
  override def size: Int = {
    val local = 1
    def inner(x: Int): Int = x + local
    inner(2)
  }
  protected def save[W >: V](
      item: => W, // what
      codes: Int*
  )(implicit codec: Codec[W] = { Codec.default }): Future[Unit] = Future.unit
  def +(other: TaskGraph[K, _]): this.type = this
  def unary_! : Boolean = true
  def `run all`(x: Int) { println(x) }
  def procedure() { }
  abstract override def close(): Unit
  def over(a: Int): Int = a
  def over(a: String): Int = 1

  implicit class Ops(x: Int) { def times(n: Int): Int = x * n }
  object Names { val all = List("a"); def of(x: Int): String = "def fake() = 1" }
}

object TaskGraph extends App { def apply(x: Int): Int = x; private val one = 1 }
case class Task(@Id id: Int, name: String = "x { y") extends Named
case object Idle extends State
sealed trait Shape { def area: Double; val sides: Int; var name: String }
trait Functor[F[_]] { self: Logging => def map[A, B](fa: F[A])(f: A => B): F[B] }
package object util { val unit = 1 }
package inner { class InPackage }

enum Color(val rgb: Int) extends Labelled:
  case Red extends Color(1)
  case Mixed(x: Int) extends Color(2)
  def label: String = "x"

given intOrder: Ordering[Int] with
  def compare(x: Int, y: Int): Int = x - y

given listOrder[T](using Ordering[T]): Ordering[List[T]] = ???

extension (s: String)
  def shout: String = s.toUpperCase
  def twice(n: Int): String = s * n

extension [T](xs: List[T]) def second: T = xs.tail.head

def topLevel(x: Int)(using ctx: Context): Int =
  val local = 1
  def helper = local
  helper + x

val topValue = 3
type Table[A] = Map[String, List[A]]
opaque type Id = Long

class Indented(x: Int):
  private val y = x
  def one(): Int = 1

  def two: Int =
    2
end Indented

inline def inlined[T](inline x: T): T = x
