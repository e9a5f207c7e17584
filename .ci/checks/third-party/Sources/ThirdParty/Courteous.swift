public import Networking

extension NetworkingComponent {
    /// Pauses before each request, so that a small server has time to breathe.
    public func courteous(pausing pause: Duration) -> some NetworkingComponent {
        modified(Courteous(pause: pause))
    }
}

extension Wait {
    /// `courteous` pauses before a request.
    public static let courtesy = Wait("courtesy", isTimed: true)
}

/// A modifier with a custom wait, which logs, metrics and the inspector show by its name.
public struct Courteous: NetworkingModifier, CustomStringConvertible {
    private let pause: Duration

    /// Creates a modifier that pauses before each request.
    public init(pause: Duration) {
        self.pause = pause
    }

    /// Waits, and sends the request.
    public func send(
        _ request: HTTPRequestData,
        upstream: some NetworkingComponent
    ) async throws -> HTTPResponseData {
        try await request.wait(.courtesy, for: pause)
        return try await upstream.send(request)
    }

    /// The modifier in an outline.
    public var description: String {
        "courteous(pausing: \(pause))"
    }
}
