import FoundationForNetworking
import HTTPTypes
import Logging
public import NetworkingCore

extension NetworkingComponent {
    /// Reports resources that the server announces as deprecated, or as about to end.
    ///
    /// ```swift
    /// let notices = DeprecationNotices()
    /// let network = URLSession.shared.retry().deprecationsReported(to: notices).server(authority: "api.example.com")
    ///
    /// for notice in notices.all {
    ///     print(notice)   // GET https://api.example.com/users is deprecated since 2026-06-30, ends on 2027-06-30
    /// }
    /// ```
    ///
    /// A server announces it with the header fields `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), which
    /// ``HTTPResponseData/deprecation`` reads. The first response of a route with an announcement, and one with another
    /// announcement:
    /// - adds a notice to `notices`,
    /// - writes a warning to the environment's logger,
    /// - emits ``DeprecationEvent/announced(_:)``.
    ///
    /// ``NetworkingComponent/diagnostics`` then has a line for each notice. A route is the request's method, its server
    /// and its ``HTTPRequestData/route``, or else its path. Set routes for paths with identifiers in them, because each
    /// path counts as a route otherwise.
    ///
    /// Place it anywhere outside the transport. It reads responses that other parts refuse, too, and changes no request
    /// and no response. A cancelled caller gets `CancellationError`.
    ///
    /// - Parameter notices: The notices, which several stacks may share.
    /// - Returns: A component that reports announcements.
    public func deprecationsReported(
        to notices: DeprecationNotices = DeprecationNotices()
    ) -> some NetworkingComponent {
        modified(DeprecationsReported(notices: notices))
    }
}

struct DeprecationsReported: UpstreamLimited, CustomStringConvertible {
    let notices: DeprecationNotices

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        do {
            let response = try await upstream.send(request)
            report(response, of: request)
            return response
        } catch {
            if let response = request.response(of: error) { report(response, of: request) }
            throw error
        }
    }

    private func report(_ response: HTTPResponseData, of request: HTTPRequestData) {
        guard response.headerFields.announceDeprecation, let deprecation = response.deprecation else { return }
        // After redirects, the announcement is about another path than that of the route.
        let route = response.redirects.isEmpty ? request.route : nil
        guard let notice = notices.add(deprecation, of: response.sentRequest, route: route) else { return }
        NetworkEnvironment.current.logger.warning("\(notice)\(response.linkText(of: deprecation))")
        request.emit(DeprecationEvent.announced(deprecation))
    }

    var stackPart: StackPart {
        StackPart(
            rules: notices.all.map { notice in
                StackRule { "\($0.name) has found that \(notice). Use its successor." }
            }
        )
    }

    var description: String {
        "deprecationsReported"
    }
}

extension HTTPResponseData {
    /// Returns the link to the server's explanation for a log line, without secrets; empty if there is none.
    fileprivate func linkText(of deprecation: Deprecation) -> String {
        guard let link = deprecation.documentation ?? deprecation.sunsetPolicy else { return "" }
        let redaction = Redaction.standard.redactingSecrets(of: sentRequest)
        return ", see \(PrintableText.cut(redaction.shown(redaction.reference(link.absoluteString)), to: 512))"
    }
}
