extension NetworkingComponent {
    /// Waits before it passes a request on, on the environment's clock.
    ///
    /// Use it to test how an app behaves on a slow network. A caller that is cancelled while it waits gets
    /// `CancellationError`, and nothing is sent.
    ///
    /// ```swift
    /// let network = URLSession.shared.delayed(by: .seconds(3))
    /// ```
    ///
    /// - Parameter duration: The time to wait; zero passes requests on at once.
    /// - Returns: A component that waits before it sends.
    /// - Precondition: `duration` is not negative.
    public func delayed(by duration: Duration) -> some NetworkingComponent {
        precondition(duration >= .zero, "duration must not be negative (is \(duration))")
        return modified(Delayed(duration: duration))
    }
}

extension Wait {
    /// The wait of `delayed` before it sends a request.
    public static let delay = Wait("delay", isTimed: true)
}

struct Delayed: NetworkingModifier, CustomStringConvertible {
    let duration: Duration

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        if duration > .zero {
            try await request.wait(.delay, for: duration, on: NetworkEnvironment.current.clock)
        }
        return try await upstream.send(request)
    }

    var description: String {
        "delayed(by: \(duration))"
    }
}
