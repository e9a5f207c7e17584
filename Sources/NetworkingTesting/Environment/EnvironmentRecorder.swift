public import Networking
import Synchronization

/// Remembers what a value of the environment is at a point of a stack, when each request comes by and when it is over.
///
/// ```swift
/// let times = EnvironmentRecorder<Duration>()
/// let network = transport.delayed(by: .seconds(3)).recorded(\.clock.now, by: times)
///     .environment(\.clock, .immediate())
///
/// try await network.data(request)
/// #expect(times.starts == [.zero])
/// #expect(times.ends == [.seconds(3)])
/// ```
public final class EnvironmentRecorder<Value: Sendable>: Sendable {
    private let state = Mutex(State())

    /// Creates a recorder of nothing.
    public init() {}

    /// What it was when each request came by, in the order in which they came.
    public var starts: [Value] {
        state.withLock { $0.starts }
    }

    /// What it was when each request was over, however that was, in the order in which they ended.
    public var ends: [Value] {
        state.withLock { $0.ends }
    }

    fileprivate func begin(with value: Value) {
        state.withLock { $0.starts.append(value) }
    }

    fileprivate func end(with value: Value) {
        state.withLock { $0.ends.append(value) }
    }

    private struct State {
        var starts: [Value] = []
        var ends: [Value] = []
    }
}

extension NetworkingComponent {
    /// Has a recorder remember what a value of the environment is here.
    ///
    /// Modifiers further out have set it by then, ones further in have not.
    ///
    /// - Parameters:
    ///   - key: The value: one of ``Networking/NetworkEnvironment``'s own, of an extension of it, or something in one.
    ///   - recorder: The recorder.
    /// - Returns: A component that sends as this one does.
    public func recorded<Value: Sendable>(
        _ key: any KeyPath<NetworkEnvironment, Value> & Sendable,
        by recorder: EnvironmentRecorder<Value>
    ) -> some NetworkingComponent {
        modified(RecordedEnvironment(key: key, recorder: recorder))
    }
}

private struct RecordedEnvironment<Value: Sendable>: NetworkingModifier, CustomStringConvertible {
    let key: any KeyPath<NetworkEnvironment, Value> & Sendable
    let recorder: EnvironmentRecorder<Value>

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        recorder.begin(with: NetworkEnvironment.current[keyPath: key])
        defer { recorder.end(with: NetworkEnvironment.current[keyPath: key]) }
        return try await upstream.send(request)
    }

    var description: String {
        "recorded(\(key.outlined))"
    }
}
