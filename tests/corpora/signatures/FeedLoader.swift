//  Loads a feed. func fake() { }
import Foundation

/// A feed
/// of entries.
@MainActor
@available(iOS 15, *) public final class FeedLoader<Entry: Codable, Failure>: NSObject, Loading where Failure == Error {
    public static let shared = FeedLoader<String, Error>()
    static let defaultHeaders: [String: String] = ["Accept": "application/json", "Accept-Language": "en", "X": "y"]
    @Published private(set) var entries: [Entry] = [] {
        didSet { print("func fake2() {}") }
    }
    @Wrapper(name: "x", wrappedValue: 3) var wrapped: Int
    weak var delegate: FeedDelegate?
    lazy var formatter: DateFormatter = { let f = DateFormatter(); return f }()
    let limit: Int, retries = 3
    let (low, high) = (1, 2)

    var isEmpty: Bool { entries.isEmpty }
    public var title: String
    {
        get { "" }
        set { _ = newValue }
    }
    var remote: Data { get async throws { Data() } }

    /// Makes one.
    public init?(url: String = "https://example.com/{id}", _ limits: Int..., retry: Bool = true) throws { return nil }
    required convenience init<T>(from other: T) where T: Loading { self.init() }
    deinit { }

    /**
     Loads all.
     */
    @discardableResult
    public override func load<T: Decodable>(
        _ type: T.Type, // what
        from url: URL? = nil, /* where, ) */
        @ViewBuilder then body: @escaping (Result<T, Error>) async throws -> Void = { _ in },
        count: inout Int
    ) async throws -> [T] where T: Sendable {
        let local = 1
        var other: Int { 2 }
        func nested(_ x: Int) -> Int { x }
        struct Local { var a: Int }
        return []
    }

    class func make() -> Self { fatalError() }
    private nonisolated func `default`() rethrows {}
    @objc(tap:) dynamic func tapped(_ sender: Any?) {}
    subscript(index: Int, default fallback: Entry? = nil) -> Entry? {
        get { nil }
        set { }
    }
    static subscript<K>(key: K) -> Int where K: Hashable { 1 }
    static func == (lhs: FeedLoader, rhs: FeedLoader) -> Bool { true }
    static prefix func - (value: FeedLoader) -> FeedLoader { value }

    struct Page: Equatable { let number: Int; var next: Int? }
    enum State: String, CaseIterable {
        case idle, loading = "class Fake {}"
        case failed(Error, code: Int = 1)
        indirect case pair(State, State)
        var label: String { rawValue }
        mutating func advance() { self = .idle }
    }
    typealias Completion = (Result<Entry, Failure>) -> Void
}

public protocol Loading: AnyObject {
    associatedtype Item: Codable = String
    var count: Int { get }
    static var name: String { get set }
    init(count: Int)
    func load(_ id: Item) async throws -> Item
    @discardableResult static func reset() -> Bool
    subscript(i: Int) -> Item { get }
}

extension FeedLoader: CustomStringConvertible where Entry: CustomStringConvertible {
    public var description: String { "" }
    func helper() {}
}
extension Array where Element == Int { func total() -> Int { reduce(0, +) } }
fileprivate extension Foundation.URL { static let home = URL(string: "/")! }

actor Counter {
    private var value = 0
    func increment(by n: Int = 1) { value += n }
}

indirect enum Tree<T> { case leaf; case node(Tree<T>, T) }
@main struct App { static func main() async { } }

public let apiVersion = "1.0"
var debugLevel: Int = 0 { willSet { } }
private func größe<each T>(_ x: repeat each T) -> Int { 1 }
func apply<T>(_ f: (T) -> T, to x: T) -> T { f(x) }
infix operator <+>: AdditionPrecedence
func <+> (a: Int, b: Int) -> Int { a + b }

#if os(macOS)
func platform() -> String { "macOS" }
#else
func platform(_ verbose: Bool) -> String { "other" }
#endif
