#if URLSession && canImport(FoundationNetworking)
import Foundation
import NetworkingCore

/// The proxy that libcurl takes from the environment for requests over plain http.
///
/// URLSession on Linux has no setting for proxies: it ignores `connectionProxyDictionary`, and libcurl reads these
/// variables for each connection.
struct EnvironmentProxy {
    /// Whether there is a proxy.
    private let isSet: Bool
    /// The hosts that are reached without it.
    private let exceptions: [Substring]

    /// Reads the variables.
    ///
    /// - Parameter variable: Returns the value of a variable; `nil` if it is not set.
    init(_ variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }) {
        func first(of names: String...) -> String? {
            names.lazy.compactMap(variable).first { !$0.isEmpty }
        }
        isSet = first(of: "http_proxy", "all_proxy", "ALL_PROXY") != nil
        exceptions =
            isSet ? (first(of: "no_proxy", "NO_PROXY") ?? "").split { $0 == "," || $0 == " " || $0 == "\t" } : []
    }

    /// Returns whether requests to a host go through the proxy.
    ///
    /// - Parameter host: The name or the address, without brackets.
    /// - Returns: `true` unless there is no proxy, or the host is one of the exceptions.
    func receivesRequests(to host: Substring) -> Bool {
        guard isSet else { return false }
        let address = HostAddress(host)
        return !exceptions.contains { exception in
            if exceptions == ["*"] { return true }
            guard let address else {
                let name = (exception.hasPrefix(".") ? exception.dropFirst() : exception).lowercased()
                let host = host.lowercased()
                return host == name || host.hasSuffix(".\(name)")
            }
            let parts = exception.split(separator: "/", omittingEmptySubsequences: false)
            let text = parts[0].drop { $0 == "[" }.prefix { $0 != "]" }
            guard let network = HostAddress(text) else { return false }
            guard parts.count == 2 else { return parts.count == 1 && network == address }
            return Int(parts[1]).map { address.isIn(network, bits: $0) } ?? false
        }
    }
}

extension HTTPRequestData {
    /// Throws if libcurl would pass this request to this machine to a proxy over plain http.
    func refuseEnvironmentProxy() throws {
        guard scheme == "http", isLoopback,
            EnvironmentProxy().receivesRequests(to: Authority(authority ?? "").host)
        else { return }
        try refuseProxyOnLoopback(
            solution: "URLSession on Linux takes the proxy from the environment. Add the host to the variable "
                + "no_proxy, use AsyncHTTPClientTransport, or set allowsPlaintextCredentials if the proxy is trusted."
        )
    }
}
#endif
