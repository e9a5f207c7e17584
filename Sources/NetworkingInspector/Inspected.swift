public import Networking

extension NetworkingComponent {
    /// Keeps what each call did, for somebody to look at: in a report, a live page, or an HTTP archive.
    ///
    /// It belongs outside of all that is to be seen, and inside `server`, as `logged` and `instrument` do.
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
    /// Of a call it keeps what its caller sent and got, each exchange of a transport with its header fields and bodies,
    /// and where the time went. Nothing of a request is held back or changed for that, and a call is kept however it
    /// ends; one whose caller is cancelled is kept as that. What a sink takes (downloads, streams) is told by its size.
    ///
    /// It is for development: the inspector's memory has bounds, but what it keeps is in memory as it was, secrets
    /// included. All that it shows and writes has them hidden.
    ///
    /// - Parameter inspector: What keeps the calls; several stacks may have one.
    /// - Returns: A component whose calls are kept. It throws what upstream does.
    public func inspected(by inspector: NetworkInspector) -> some NetworkingComponent {
        modified(Inspected(inspector: inspector))
    }
}

struct Inspected: NetworkingModifier, CustomStringConvertible {
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
            capture.end(with: error, measurement.end(of: request, with: error))
            throw error
        }
    }

    var requestOptions: Set<RequestOptionKey> { [.route] }

    var description: String {
        "inspected"
    }
}
