#if Valkey
import Foundation
import NetworkingValkey
import NIOCore
import NIOPosix
import Synchronization
import Testing

// The adapters to which Documentation/ManyMachines.md refers, over stubs with the signatures of the libraries.

// MARK: valkey-swift

/// Commands over a client of valkey-swift.
struct ValkeySwiftCommands: ValkeyCommandSender {
    let client: Valkey.ValkeyClient

    func send(_ words: [[UInt8]], keys: [String]) async throws -> ValkeyValue {
        do throws(any Error) {
            return try await Self.value(of: client.execute(Command(keysAffected: keys.map { .init($0) }, words: words)))
        } catch let error as Valkey.ValkeyClientError where error.errorCode == .commandError {
            return .error(error.message ?? "ERR")
        }
    }

    private static func value(of token: Valkey.RESPToken) -> ValkeyValue {
        switch token.value {
        case .number(let integer): .integer(integer)
        case .simpleString(let bytes), .bulkString(let bytes): .bytes(Array(bytes.readableBytesView))
        case .array(let elements), .set(let elements): .array(elements.map(value))
        default: .null
        }
    }

    private struct Command: Valkey.ValkeyCommand {
        static let name = "networking"
        let keysAffected: [Valkey.ValkeyKey]
        let words: [[UInt8]]
        func encode(into all: inout Valkey.ValkeyCommandEncoder) { all.encodeArray(Words(words: words)) }
    }

    private struct Words: Valkey.RESPRenderable, Hashable {
        let words: [[UInt8]]
        var respEntries: Int { words.count }
        func encode(into all: inout Valkey.ValkeyCommandEncoder) { for word in words { word.encode(into: &all) } }
    }
}

// MARK: RediStack

/// Commands over a client of RediStack, for example a `RedisConnectionPool`.
struct RediStackCommands: ValkeyCommandSender, @unchecked Sendable {
    let client: any RediStack.RedisClient

    func send(_ words: [[UInt8]], keys: [String]) async throws -> ValkeyValue {
        let arguments = words.dropFirst().map { RediStack.RESPValue.bulkString(ByteBuffer(bytes: $0)) }
        let reply = client.send(command: String(decoding: words[0], as: UTF8.self), with: arguments)
        do {
            return try await reply.map(Self.value).get()
        } catch let error as RediStack.RedisError {
            return .error(error.message.replacing("(Redis) ", with: ""))
        }
    }

    private static func value(_ value: RediStack.RESPValue) -> ValkeyValue {
        switch value {
        case .null, .bulkString(nil): .null
        case .integer(let integer): .integer(Int64(integer))
        case .simpleString(let bytes), .bulkString(let bytes?): .bytes(Array(bytes.readableBytesView))
        case .array(let elements): .array(elements.map(Self.value))
        case .error(let error): .error(error.message)
        }
    }
}
// MARK: Stubs

/// The public interface of valkey-swift 1, as far as the adapter uses it.
enum Valkey {
    struct ValkeyClient: Sendable {
        let engine: StubEngine

        func execute<Command: ValkeyCommand>(
            _ command: Command
        ) async throws(ValkeyClientError) -> Command.Response where Command.Response == RESPToken {
            var encoder = ValkeyCommandEncoder()
            command.encode(into: &encoder)
            let token = RESPToken(value: engine.reply(to: encoder.words, keys: command.keysAffected.map(\.text)))
            if case .simpleError(let bytes) = token.value {
                throw ValkeyClientError(errorCode: .commandError, message: String(buffer: bytes))
            }
            return token
        }
    }

    protocol ValkeyCommand: Sendable, Hashable {
        associatedtype Response: Sendable = RESPToken
        associatedtype Keys: Collection<ValkeyKey>

        static var name: String { get }
        var keysAffected: Keys { get }
        func encode(into commandEncoder: inout ValkeyCommandEncoder)
    }

    struct ValkeyKey: Sendable, Hashable {
        fileprivate let text: String

        init(_ string: String) {
            text = string
        }
    }

    struct ValkeyCommandEncoder {
        fileprivate var words: [[UInt8]] = []

        mutating func encodeArray<Element: RESPRenderable>(_ element: Element) {
            element.encode(into: &self)
        }
    }

    protocol RESPRenderable {
        var respEntries: Int { get }
        func encode(into commandEncoder: inout ValkeyCommandEncoder)
    }

    protocol RESPStringRenderable: Sendable, Hashable {
        func encode(into commandEncoder: inout ValkeyCommandEncoder)
    }

    struct ValkeyClientError: Error {
        enum ErrorCode: Equatable, Sendable {
            case commandError
        }

        let errorCode: ErrorCode
        let message: String?
    }

    struct RESPToken: Hashable, Sendable {
        let value: Value

        struct Array: Sequence, Hashable, Sendable {
            fileprivate let elements: [RESPToken]

            func makeIterator() -> IndexingIterator<[RESPToken]> {
                elements.makeIterator()
            }
        }

        indirect enum Value: Hashable, Sendable {
            case simpleString(ByteBuffer)
            case simpleError(ByteBuffer)
            case bulkString(ByteBuffer)
            case bulkError(ByteBuffer)
            case number(Int64)
            case double(Double)
            case boolean(Bool)
            case null
            case array(Array)
            case set(Array)
        }
    }
}

extension [UInt8]: Valkey.RESPStringRenderable {
    func encode(into commandEncoder: inout Valkey.ValkeyCommandEncoder) {
        commandEncoder.words.append(self)
    }
}

/// The public interface of RediStack 1, as far as the adapter uses it.
enum RediStack {
    protocol RedisClient {
        func send(command: String, with arguments: [RESPValue]) -> EventLoopFuture<RESPValue>
    }

    enum RESPValue: Sendable {
        case null
        case simpleString(ByteBuffer)
        case bulkString(ByteBuffer?)
        case error(RedisError)
        case integer(Int)
        case array([RESPValue])
    }

    struct RedisError: Error {
        let message: String

        init(reason: String) {
            message = "(Redis) \(reason)"
        }
    }

    final class RedisConnectionPool: RedisClient {
        let engine: StubEngine

        init(engine: StubEngine) {
            self.engine = engine
        }

        func send(command: String, with arguments: [RESPValue]) -> EventLoopFuture<RESPValue> {
            let loop = MultiThreadedEventLoopGroup.singleton.any()
            let words = arguments.map { argument -> [UInt8] in
                guard case .bulkString(let bytes?) = argument else { return [] }
                return Array(bytes.readableBytesView)
            }
            switch engine.reply(to: [Array(command.utf8)] + words, keys: nil) {
            case .simpleError(let bytes):
                return loop.makeFailedFuture(RedisError(reason: String(buffer: bytes)))
            case let value:
                return loop.makeSucceededFuture(Self.value(value))
            }
        }

        private static func value(_ value: Valkey.RESPToken.Value) -> RESPValue {
            switch value {
            case .bulkString(let bytes): .bulkString(bytes)
            case .simpleString(let bytes): .simpleString(bytes)
            case .number(let integer): .integer(Int(integer))
            case .array(let elements): .array(elements.map { Self.value($0.value) })
            default: .null
            }
        }
    }
}

/// A server within the test, with one script.
final class StubEngine: Sendable {
    static let script = ValkeyScript("return {#KEYS, KEYS[1], ARGV[1]}")

    private let state = Mutex<(values: [[UInt8]: [UInt8]], hasScript: Bool, names: [String])>(([:], false, []))

    /// The names of the commands.
    var names: [String] {
        state.withLock { $0.names }
    }

    func reply(to words: [[UInt8]], keys: [String]?) -> Valkey.RESPToken.Value {
        let name = String(decoding: words[0], as: UTF8.self)
        return state.withLock { state in
            state.names.append(name)
            switch name {
            case "GET":
                return state.values[words[1]].map { .bulkString(ByteBuffer(bytes: $0)) } ?? .null
            case "SET":
                if words.contains(Array("NX".utf8)), state.values[words[1]] != nil { return .null }
                state.values[words[1]] = words[2]
                return .simpleString(ByteBuffer(string: "OK"))
            case "EVALSHA" where !state.hasScript:
                return .simpleError(ByteBuffer(string: "NOSCRIPT No matching script."))
            case "EVAL", "EVALSHA":
                state.hasScript = true
                #expect(keys == nil || keys == ["{a}:1"])
                let elements =
                    [Valkey.RESPToken.Value.number(1)] + words[3...].map { .bulkString(ByteBuffer(bytes: $0)) }
                return .array(Valkey.RESPToken.Array(elements: elements.map(Valkey.RESPToken.init)))
            default:
                return .simpleError(ByteBuffer(string: "ERR unknown command"))
            }
        }
    }
}

@Suite struct AdapterTests {
    private static let adapters: [@Sendable (StubEngine) -> any ValkeyCommands] = [
        { ValkeySwiftCommands(client: Valkey.ValkeyClient(engine: $0)) },
        { RediStackCommands(client: RediStack.RedisConnectionPool(engine: $0)) },
    ]

    @Test(arguments: 0...1) func clientOfAnotherLibraryRunsTheCommands(index: Int) async throws {
        let engine = StubEngine()
        let commands = Self.adapters[index](engine)
        #expect(try await commands.get("key") == nil)
        #expect(try await commands.set("key", to: [0, 255], ValkeySetOptions(.ifMissing, expiry: .seconds(1))))
        #expect(try await !commands.set("key", to: [1], ValkeySetOptions(.ifMissing)))
        #expect(try await commands.get("key") == [0, 255])
        for _ in 0..<2 {
            let result = try await commands.evaluate(StubEngine.script, keys: ["{a}:1"], arguments: [[0, 255]])
            #expect(result == [1, "{a}:1", .bytes([0, 255])])
        }
        #expect(engine.names == ["GET", "SET", "SET", "GET", "EVALSHA", "EVAL", "EVALSHA"])
        let kind = try await failure { _ = try await commands.messages(on: "channel") }
        #expect(kind == .unsupported)
    }
}
#endif
