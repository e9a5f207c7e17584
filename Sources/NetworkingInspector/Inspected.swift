public import NetworkingCore
import NetworkingObservability

extension NetworkingComponent {
    /// Records each call for inspection: in a report, on a live page or in an HTTP archive.
    ///
    /// Place it outside all modifiers that should be visible, and inside `server`, like `logged` and `instrument`.
    ///
    /// ```swift
    /// let inspector = NetworkInspector()
    /// let network = URLSession.shared
    ///     .throttled(max: 6)
    ///     .retry()
    ///     .cached()
    ///     .inspected(by: inspector)
    ///     .server(authority: "api.example.com")
    ///
    /// // … later:
    /// try inspector.writeReport(to: URL(filePath: "network.html"))
    /// ```
    ///
    /// For each call it records the request and the response of the caller, each exchange of a transport with its
    /// header fields and bodies, and where the time went. Recording neither delays nor changes a request. Every call is
    /// recorded, whether it succeeds, fails or is cancelled. For bodies that go to a sink (downloads, streams), only
    /// the size is recorded.
    ///
    /// Use it during development. The inspector limits its memory, but it stores calls in memory unredacted, secrets
    /// included. Everything that it shows or writes is redacted.
    ///
    /// - Parameter inspector: The inspector that stores the calls; several stacks may share one.
    /// - Returns: A component that records its calls. It throws the errors of the upstream component.
    public func inspected(by inspector: NetworkInspector) -> some NetworkingComponent {
        modified(Inspected(inspector: inspector))
    }
}

struct Inspected: UpstreamLimited, CustomStringConvertible {
    let inspector: NetworkInspector

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        guard let capture = inspector.shelf.add({ CallCapture($0, of: request, for: inspector) }) else {
            return try await upstream.send(request)
        }
        let measurement = CallMeasurement(of: request)
        var inspected = measurement.measured(request)
        inspected.addObserver(capture)
        do {
            let response = try await upstream.send(inspected)
            capture.end(with: response, measurement.end(of: request, with: response))
            return response
        } catch {
            capture.end(with: error, about: request.response(of: error), measurement.end(of: request, with: error))
            throw error
        }
    }

    var stackPart: StackPart { StackPart(options: [.route]) }

    var description: String {
        "inspected"
    }
}
