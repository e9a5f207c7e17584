#if URLSession
import NetworkingCore
import NetworkingTrust
#if canImport(FoundationNetworking)
import FoundationNetworking
#else
import Foundation
import Security
#endif

/// The ``ServerTrust`` of a transport over URLSession.
final class URLSessionTrust: Sendable {
    let trust: ServerTrust
    #if !canImport(FoundationNetworking)
    /// The identities of the client, in the order of the trust.
    let credentials: [URLCredential]
    #endif

    /// Prepares a value, and applies it to a configuration.
    ///
    /// - Throws: ``ServerTrustError`` if URLSession cannot enforce it on this platform.
    init(_ trust: ServerTrust, configuring configuration: URLSessionConfiguration) throws(ServerTrustError) {
        self.trust = trust
        #if canImport(FoundationNetworking)
        guard trust.isThatOfPlatform else {
            throw ServerTrustError(
                "URLSession on Linux shows no certificates and takes neither authorities, client identities nor a version of "
                    + "TLS. Use AsyncHTTPClientTransport(trust:)."
            )
        }
        #else
        guard trust.applicationProtocols == .automatic else {
            throw ServerTrustError(
                "URLSession chooses the version of HTTP itself. Use applicationProtocols: .automatic, or "
                    + "AsyncHTTPClientTransport(trust:)."
            )
        }
        configuration.tlsMinimumSupportedProtocolVersion = trust.minimumTLSVersion == .v13 ? .TLSv13 : .TLSv12
        credentials = try trust.clientIdentities.map { identity throws(ServerTrustError) in
            try URLCredential.identity(identity)
        }
        #endif
    }
}

#if canImport(FoundationNetworking)
extension ServerTrust {
    /// Whether the platform enforces the value without any setting.
    ///
    /// libcurl accepts TLS 1.2 and later, as measured in Tests/IntegrationTests/TLS.
    fileprivate var isThatOfPlatform: Bool {
        roots == .system && pins.isEmpty && clientIdentities.isEmpty && minimumTLSVersion == .v12
            && applicationProtocols == .automatic
    }
}
#else
extension URLSessionTrust {
    /// The reply to a challenge, and the reason why it refuses the server.
    struct Decision {
        let disposition: URLSession.AuthChallengeDisposition
        var credential: URLCredential?
        var mismatch: PinMismatch?
        var failure: TrustFailure?
    }

    /// Returns the reply to a challenge about certificates.
    ///
    /// - Parameters:
    ///   - challenge: The challenge.
    ///   - pins: The pins that apply to the request.
    /// - Returns: The reply; `nil` for any other challenge.
    func decision(on challenge: URLAuthenticationChallenge, _ pins: HostPins?) -> Decision? {
        let space = challenge.protectionSpace
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodClientCertificate:
            let index = trust.identityIndex(for: space.host)
            return index.map { Decision(disposition: .useCredential, credential: credentials[$0]) }
        case NSURLAuthenticationMethodServerTrust:
            guard let serverTrust = space.serverTrust else {
                return Decision(disposition: .cancelAuthenticationChallenge, failure: .untrusted("no certificate"))
            }
            return decision(on: serverTrust, of: space.host, pins)
        default:
            return nil
        }
    }

    private func decision(on serverTrust: SecTrust, of host: String, _ pins: HostPins?) -> Decision {
        let usesOwnRoots = setRoots(of: serverTrust)
        var error: CFError?
        guard SecTrustEvaluateWithError(serverTrust, &error) else {
            // The system evaluates its own roots again, and reports a precise error.
            guard usesOwnRoots else { return Decision(disposition: .performDefaultHandling) }
            let detail = error.map { ($0 as any Error).localizedDescription } ?? "the certificate is not trusted"
            return Decision(disposition: .cancelAuthenticationChallenge, failure: .untrusted(detail))
        }
        let accepted =
            usesOwnRoots
            ? Decision(disposition: .useCredential, credential: URLCredential(trust: serverTrust))
            : Decision(disposition: .performDefaultHandling)
        guard let pins else { return accepted }
        let chain = (SecTrustCopyCertificateChain(serverTrust) as? [SecCertificate] ?? [])
            .compactMap { try? Certificate(der: SecCertificateCopyData($0) as Data) }
        guard let mismatch = pins.mismatch(with: chain, of: host) else { return accepted }
        guard pins.mode == .enforced else {
            var decision = accepted
            decision.mismatch = mismatch
            return decision
        }
        return Decision(disposition: .cancelAuthenticationChallenge, failure: .refused(mismatch))
    }

    /// Sets the authorities of the trust, and returns whether there are any besides the system's.
    private func setRoots(of serverTrust: SecTrust) -> Bool {
        let (certificates, isOnly): ([Certificate], Bool)
        switch trust.roots {
        case .system: return false
        case .systemAnd(let additional): (certificates, isOnly) = (additional, false)
        case .only(let all): (certificates, isOnly) = (all, true)
        }
        let anchors = certificates.compactMap { SecCertificateCreateWithData(nil, $0.der as CFData) }
        _ = SecTrustSetAnchorCertificates(serverTrust, anchors as CFArray)
        _ = SecTrustSetAnchorCertificatesOnly(serverTrust, isOnly)
        return true
    }
}

extension URLCredential {
    /// Returns the credential of an identity.
    fileprivate static func identity(_ identity: ClientIdentity) throws(ServerTrustError) -> URLCredential {
        guard case .pkcs12(let data, let password) = identity.source else {
            throw ServerTrustError(
                "\(identity) is in PEM, which URLSession cannot read. Create it with pkcs12:password:."
            )
        }
        #if os(macOS)
        // Otherwise the import would add the key to the keychain of the user, which it does on no other system.
        let options: [CFString: Any] = [kSecImportExportPassphrase: password, kSecImportToMemoryOnly: true]
        #else
        let options: [CFString: Any] = [kSecImportExportPassphrase: password]
        #endif
        var items: CFArray?
        guard SecPKCS12Import(data as CFData, options as CFDictionary, &items) == errSecSuccess,
            let item = (items as? [[String: Any]])?.first,
            let value = item[kSecImportItemIdentity as String] as AnyObject?,
            CFGetTypeID(value) == SecIdentityGetTypeID()
        else { throw ServerTrustError("\(identity) cannot be read. Check its format and its password.") }
        // The first certificate is that of the identity.
        let chain = (item[kSecImportItemCertChain as String] as? [SecCertificate] ?? []).dropFirst()
        return URLCredential(
            identity: unsafeDowncast(value, to: SecIdentity.self),
            certificates: Array(chain),
            persistence: .forSession
        )
    }
}
#endif

/// Why an exchange refuses the server's certificate.
enum TrustFailure: Sendable {
    /// None of the pinned keys is presented.
    case refused(PinMismatch)
    /// The platform does not trust the certificate under the roots of the trust.
    case untrusted(String)

    func error(of request: HTTPRequestData) -> NetworkingError {
        switch self {
        case .refused(let mismatch): NetworkingError(mismatch, request: request)
        case .untrusted(let detail): NetworkingError(.tls, request: request, reason: HTTPRequestData.unsecured(detail))
        }
    }
}
#endif
