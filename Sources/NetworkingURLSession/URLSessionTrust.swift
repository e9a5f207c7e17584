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
    /// The authorities in addition to the system's, or instead of them; `nil` for the system's alone.
    private let anchors: Anchors?
    #endif

    /// Prepares a value, and applies it to a configuration.
    ///
    /// - Throws: ``ServerTrustError`` if URLSession cannot enforce it on this platform.
    init(_ trust: ServerTrust, configuring configuration: URLSessionConfiguration) throws(ServerTrustError) {
        self.trust = trust
        #if canImport(FoundationNetworking)
        guard trust.isThatOfPlatform else {
            throw ServerTrustError(
                "URLSession on Linux shows no certificates and takes neither authorities, client identities nor a "
                    + "version of TLS. Use AsyncHTTPClientTransport(trust:)."
            )
        }
        #else
        guard trust.applicationProtocols == .automatic else {
            throw ServerTrustError(
                "URLSession chooses the version of HTTP itself. Use applicationProtocols: .automatic, or "
                    + "AsyncHTTPClientTransport(trust:)."
            )
        }
        // A configuration that already requires TLS 1.3 keeps it.
        if trust.minimumTLSVersion == .v13 {
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        } else if configuration.tlsMinimumSupportedProtocolVersion != .TLSv13 {
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        }
        anchors = try Anchors(trust.roots)
        credentials = try trust.clientIdentities.map { identity throws(ServerTrustError) in
            try URLCredential.identity(identity)
        }
        #endif
    }
}

#if canImport(FoundationNetworking)
extension ServerTrust {
    /// Whether the platform enforces this trust without further settings.
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
    ///   - host: The pins and the identity that the connection needs.
    /// - Returns: The reply; `nil` for any other challenge.
    func decision(on challenge: URLAuthenticationChallenge, _ host: HostTrust?) -> Decision? {
        let space = challenge.protectionSpace
        switch space.authenticationMethod {
        case NSURLAuthenticationMethodClientCertificate:
            let index = trust.identityIndex(for: space.host)
            return index.map { Decision(disposition: .useCredential, credential: credentials[$0]) }
        case NSURLAuthenticationMethodServerTrust:
            guard let serverTrust = space.serverTrust else {
                return Decision(disposition: .cancelAuthenticationChallenge, failure: .untrusted("no certificate"))
            }
            return decision(on: serverTrust, host)
        default:
            return nil
        }
    }

    private func decision(on serverTrust: SecTrust, _ host: HostTrust?) -> Decision {
        switch TrustDecision(evaluate(serverTrust), hasOwnRoots: anchors != nil, host: host) {
        case .accept(let mismatch):
            Decision(disposition: .useCredential, credential: URLCredential(trust: serverTrust), mismatch: mismatch)
        case .leaveToSystem(let mismatch):
            Decision(disposition: .performDefaultHandling, mismatch: mismatch)
        case .refuse(let failure):
            Decision(disposition: .cancelAuthenticationChallenge, failure: failure)
        }
    }

    /// Validates a certificate under the authorities of the trust.
    private func evaluate(_ serverTrust: SecTrust) -> TrustDecision.Evaluation {
        if let anchors, !anchors.set(on: serverTrust) { return .untrusted("the authorities could not be set") }
        var error: CFError?
        guard SecTrustEvaluateWithError(serverTrust, &error) else {
            return .untrusted(
                error.map { ($0 as any Error).localizedDescription } ?? "the certificate is not trusted"
            )
        }
        var chain: [Certificate] = []
        for certificate in SecTrustCopyCertificateChain(serverTrust) as? [SecCertificate] ?? [] {
            // The next certificate must not take the place of one that cannot be read.
            guard let certificate = try? Certificate(der: SecCertificateCopyData(certificate) as Data) else { break }
            chain.append(certificate)
        }
        return .trusted(chain)
    }
}

/// The authorities of a trust, in addition to the system's or instead of them.
///
/// Certificates of Security never change, but are not declared as sendable.
private struct Anchors: @unchecked Sendable {
    private let certificates: [SecCertificate]
    private let areOnly: Bool

    /// Reads the authorities; `nil` for those of the system.
    init?(_ roots: ServerTrust.Roots) throws(ServerTrustError) {
        let certificates: [Certificate]
        switch roots {
        case .system: return nil
        case .systemAnd(let additional): (certificates, areOnly) = (additional, false)
        case .only(let all): (certificates, areOnly) = (all, true)
        }
        self.certificates = try certificates.map { certificate throws(ServerTrustError) in
            guard let anchor = SecCertificateCreateWithData(nil, certificate.der as CFData) else {
                throw ServerTrustError("\(certificate) of the roots is not valid for the system. Check its file.")
            }
            return anchor
        }
    }

    /// Sets the authorities under which a trust is evaluated; returns `false` if the system refuses them.
    func set(on serverTrust: SecTrust) -> Bool {
        SecTrustSetAnchorCertificates(serverTrust, certificates as CFArray) == errSecSuccess
            && SecTrustSetAnchorCertificatesOnly(serverTrust, areOnly) == errSecSuccess
    }
}

extension URLCredential {
    /// Returns the credential of an identity.
    fileprivate static func identity(_ identity: ClientIdentity) throws(ServerTrustError) -> URLCredential {
        guard case .pkcs12(let data, let password) = identity.source else {
            throw ServerTrustError(
                "\(identity) is in PEM, which URLSession cannot read. Create it with pkcs12:password:, or use "
                    + "AsyncHTTPClientTransport(trust:)."
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
#endif
