#if URLSession
import Foundation
import NetworkingCore

extension HTTPRequestData {
    /// Returns the URL for URLSession, which sends the request to its server and path.
    ///
    /// - Throws: ``NetworkingError/Kind/invalidRequest`` if there is none.
    func urlForURLSession() throws -> URL {
        let url = try foundationURL()
        guard closedTarget != "*" else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "URLSession would send the path / in place of *. Use AsyncHTTPClientTransport."
            )
        }
        #if canImport(FoundationNetworking)
        return try spelledForCorelibs(url)
        #else
        return url
        #endif
    }

    #if canImport(FoundationNetworking)
    private static let everyByte = PercentEncoding(allowing: "")

    /// Returns the URL in a spelling that swift-corelibs-foundation accepts for a host that is an address.
    ///
    /// It compares the host that libcurl reads with the one that Foundation reads, and refuses the request as a bad
    /// URL if they differ. They do for each IPv6 address, because only libcurl keeps the brackets, and for each address
    /// that libcurl spells differently. Both decode a percent-encoded host, and libcurl leaves a name that it has
    /// decoded as it is. The connection and the Host field are those of the address.
    private func spelledForCorelibs(_ url: URL) throws -> URL {
        let authority = Authority(authority ?? "")
        guard let address = authority.address else { return url }
        let usual = address.text(asVersion6: authority.isBracketed)
        guard authority.isBracketed || authority.host != usual else { return url }
        guard !authority.host.utf8.contains(UInt8(ascii: "%")) else {
            throw NetworkingError(
                .invalidRequest,
                request: self,
                reason: "URLSession on Linux cannot connect to an IPv6 address with a zone. Use "
                    + "AsyncHTTPClientTransport."
            )
        }
        let host = Self.everyByte.encode(authority.isBracketed ? "[\(usual)]" : String(authority.host))
        let port = authority.port.map { ":\($0)" } ?? ""
        guard let spelled = URL(string: "\(scheme ?? "https")://\(host)\(port)\(requestTarget)") else { return url }
        return spelled
    }
    #endif
}
#endif
