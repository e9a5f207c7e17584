#if AsyncHTTPClient
import FoundationForNetworking
import NetworkingCore
import NIOHTTP1

/// A target that AsyncHTTPClient does not send as it is.
///
/// AsyncHTTPClient takes the path from Foundation's `URL`. If the decoded path is not UTF-8, as after `caf%E9`, it
/// sends the path `/`, so a DELETE would reach another resource. The URL of such a request therefore has the target in
/// hexadecimal digits, and the guard of the connection writes the target itself.
enum ExactTarget {
    /// The start of such a path.
    ///
    /// It is random, so that no URL of the app or of a redirect begins with it and could contain line breaks.
    private static let prefix =
        "/\(UInt64.random(in: .min ... .max).hexadecimal)"
        + "\(UInt64.random(in: .min ... .max).hexadecimal)/"

    /// Returns the path that stands for a target.
    static func path(for target: String) -> String {
        prefix + target.utf8.hexadecimal
    }

    /// Replaces such a path in the head of a request by its target.
    ///
    /// - Returns: Whether the head had such a path.
    static func restore(in head: inout HTTPRequestHead) -> Bool {
        guard head.uri.utf8.starts(with: prefix.utf8),
            let target = Hexadecimal.bytes(head.uri.dropFirst(prefix.utf8.count))
        else { return false }
        head.uri = String(decoding: target, as: UTF8.self)
        return true
    }
}

extension HTTPRequestData {
    /// Returns the URL from which AsyncHTTPClient sends the request to its server and path.
    ///
    /// - Parameter hasGuards: Whether the connections of the client restore an ``ExactTarget``.
    /// - Returns: The URL.
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` if there is none.
    func urlForClient(hasGuards: Bool) throws -> String {
        if let text = plainURL { return text }
        let url = try foundationURL()
        // The part of the URL from which AsyncHTTPClient concludes that the path is empty.
        guard url.path.isEmpty else { return url.absoluteString }
        guard hasGuards else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "AsyncHTTPClient would send the path / in place of the path of this request. Create the client "
                    + "with HTTPClient(configuration: .networking), or use AsyncHTTPClientTransport."
            )
        }
        return "\(scheme ?? "https")://\(authority ?? "")\(ExactTarget.path(for: requestTarget))"
    }

    /// The URL if it cannot be read in more than one way, so that no comparison is necessary; otherwise `nil`.
    private var plainURL: String? {
        guard let authority, closedTarget.utf8.first == UInt8(ascii: "/"),
            !closedTarget.utf8.contains(UInt8(ascii: "%")),
            authority.utf8.allSatisfy({ Authority.isPlainNameByte($0) || $0 == UInt8(ascii: ":") })
        else { return nil }
        return absoluteString
    }
}
#endif
