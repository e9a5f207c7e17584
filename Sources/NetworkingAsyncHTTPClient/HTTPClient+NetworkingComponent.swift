#if AsyncHTTPClient
public import AsyncHTTPClient
public import NetworkingCore
import Synchronization

/// Makes an HTTPClient usable as a transport.
///
/// ```swift
/// let client = HTTPClient(configuration: .networking)
/// let network = client.logged()
/// ```
///
/// The caller owns the client and shuts it down. The client must neither follow redirects nor decode bodies, because
/// both would bypass the stack. A client that does, such as `HTTPClient.shared`, fails requests with
/// `NetworkingError.Kind.invalidRequest`. Use ``AsyncHTTPClientTransport`` if the app does not need its own client.
extension HTTPClient: NetworkingTransport {
    /// Makes one exchange over this client.
    ///
    /// - Parameter request: The request, resolved and checked.
    /// - Returns: The response, with its body collected or delivered to the request's sink.
    /// - Throws: The errors of ``AsyncHTTPClientTransport/exchange(_:)``.
    public func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        if let objection = ClientObjections.shared.objection(to: self) {
            throw NetworkingError(.invalidRequest, request: request, reason: objection)
        }
        return try await respond(to: request)
    }

    /// A diagnostic for a client that accepts a version of TLS before 1.2.
    public func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
        [readConfiguration?.diagnosticOfOldTLS(self)].compactMap { $0 }
    }
}

extension HTTPClient {
    /// The configuration, which only reflection can read; `nil` if that fails.
    fileprivate var readConfiguration: HTTPClient.Configuration? {
        Mirror(reflecting: self).descendant("configuration") as? HTTPClient.Configuration
    }

    /// The maximum number of consecutive connections that may turn out to be closed.
    private static let maximumClosed = 16

    /// Sends a request, whatever this client's configuration.
    ///
    /// If its connection was closed before anything was sent, the request goes to another connection.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - streams: The open streams over this client, if its transport counts them.
    /// - Returns: The response.
    /// - Throws: The errors of ``AsyncHTTPClientTransport/exchange(_:)``.
    func respond(to request: HTTPRequestData, counting streams: OpenStreams? = nil) async throws -> HTTPResponseData {
        var closed = 0
        while true {
            do {
                return try await ClientExchange(of: request, over: self, counting: streams).respond()
            } catch let failure as UnsentRequest {
                closed += 1
                guard closed < Self.maximumClosed else { throw failure.error }
            }
        }
    }
}

/// The reasons why clients cannot be transports: their configuration, which only reflection can read.
///
/// One table serves the process, because a client cannot store it. The table does not retain clients, and removes those
/// that were released.
private final class ClientObjections: Sendable {
    static let shared = ClientObjections()

    private let known = Mutex<[ObjectIdentifier: Entry]>([:])

    private struct Entry {
        weak var client: HTTPClient?
        let objection: String?
    }

    func objection(to client: HTTPClient) -> String? {
        known.withLock { known in
            if let entry = known[ObjectIdentifier(client)], entry.client === client { return entry.objection }
            known = known.filter { $0.value.client != nil }
            let objection = Self.objection(to: client)
            known[ObjectIdentifier(client)] = Entry(client: client, objection: objection)
            return objection
        }
    }

    private static func objection(to client: HTTPClient) -> String? {
        let configuration = client.readConfiguration
        // A configuration that cannot be read counts as one that does both, because the mistake would go unnoticed.
        let redirects = configuration.flatMap { Mirror(reflecting: $0.redirectConfiguration).descendant("mode") }
        let followsRedirects = redirects.map { "\($0)" != "disallow" } ?? true
        let decodes =
            if case .disabled = configuration?.decompression { false } else { true }
        guard followsRedirects || decodes else { return nil }
        let deeds = [followsRedirects ? "follows redirects" : nil, decodes ? "decodes bodies" : nil].compactMap { $0 }
        return "This HTTPClient \(deeds.joined(separator: " and ")) by itself, which bypasses the stack. Create it "
            + "with HTTPClient(configuration: .networking), or use AsyncHTTPClientTransport(configuration:)."
    }
}

extension HTTPClient: Outlined {
    package var outlineLines: [String] {
        ["HTTPClient"]
    }
}

// AsyncHTTPClient's deadlines are on the system's clock. Waiting for the reader of a body needs a task that can be
// cancelled.
extension HTTPClient {
    /// Returns whether this transport ends the exchange of a request at a time limit itself.
    public func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
        clock.isSystem && request.bodyToRead == nil
    }
}

extension AsyncHTTPClientTransport {
    /// Returns whether this transport ends the exchange of a request at a time limit itself.
    public func enforcesLimit(of request: HTTPRequestData, on clock: NetworkClock) -> Bool {
        clock.isSystem && request.bodyToRead == nil
    }
}
#endif
