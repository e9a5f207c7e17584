public import NetworkingCore
import Synchronization

/// Records an environment value at one place in a stack, when each request arrives and when it ends.
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

    /// Creates an empty recorder.
    public init() {}

    /// The value at the arrival of each request, in the order of arrival.
    public var starts: [Value] {
        state.withLock { $0.starts }
    }

    /// The value at the end of each request, whether it succeeded or not, in the order of completion.
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
    /// Records an environment value at this place of the stack.
    ///
    /// The recorder sees values set by outer modifiers, but not those set by inner ones.
    ///
    /// - Parameters:
    ///   - key: The key path of the value, in `NetworkEnvironment` or in an extension of it.
    ///   - recorder: The recorder.
    /// - Returns: A component that sends requests unchanged.
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
