#if AsyncHTTPClient
import AsyncHTTPClient
import FoundationForNetworking
import NetworkingTrust
import NetworkingCore
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The mismatches of report-only pins that no request has reported yet.
final class PinReports: Sendable {
    private static let maximumCount = 16

    private let mismatches = Mutex<[PinMismatch]>([])

    func append(_ mismatch: PinMismatch) {
        mismatches.withLock { mismatches in
            guard mismatches.count < Self.maximumCount else { return }
            mismatches.append(mismatch)
        }
    }

    func take() -> [PinMismatch] {
        mismatches.withLock { mismatches in
            defer { mismatches = [] }
            return mismatches
        }
    }
}

/// A client identity in the types of NIOSSL.
struct LoadedIdentity: Sendable {
    private let chain: [NIOSSLCertificateSource]
    private let key: NIOSSLPrivateKeySource

    init(_ identity: ClientIdentity) throws(ServerTrustError) {
        do {
            switch identity.source {
            case .pkcs12(let data, let password):
                let bundle = try NIOSSLPKCS12Bundle(buffer: [UInt8](data), passphrase: password.utf8)
                chain = bundle.certificateChain.map { .certificate($0) }
                key = .privateKey(bundle.privateKey)
            case .pem(let text, let keyText, let password):
                chain = try NIOSSLCertificate.fromPEMBytes([UInt8](text.utf8)).map { .certificate($0) }
                let bytes = [UInt8](keyText.utf8)
                key = .privateKey(
                    try password.map { password in
                        try NIOSSLPrivateKey(bytes: bytes, format: .pem) { $0([UInt8](password.utf8)) }
                    } ?? NIOSSLPrivateKey(bytes: bytes, format: .pem)
                )
            }
        } catch {
            // The error of BoringSSL names its own files and nothing of the identity.
            throw ServerTrustError("\(identity) cannot be read. Check its format and its password.")
        }
        guard !chain.isEmpty else { throw ServerTrustError("\(identity) has no certificate.") }
    }

    func apply(to configuration: inout HTTPClient.Configuration) {
        configuration.tlsConfiguration?.certificateChain = chain
        configuration.tlsConfiguration?.privateKey = key
    }
}

extension HTTPClient.Configuration {
    /// Returns the same configuration with the roots and versions of a ``ServerTrust``.
    func applying(_ trust: ServerTrust) throws(ServerTrustError) -> HTTPClient.Configuration {
        var configuration = self
        var tls = tlsConfiguration ?? .makeClientConfiguration()
        // Pins never replace the validation.
        tls.certificateVerification = .fullVerification
        // Only the identities of the trust are presented, and only to their hosts.
        tls.certificateChain = []
        tls.privateKey = nil
        // A configuration that already requires TLS 1.3 keeps it.
        if trust.minimumTLSVersion == .v13 || tls.minimumTLSVersion != .tlsv13 {
            tls.minimumTLSVersion = trust.minimumTLSVersion == .v13 ? .tlsv13 : .tlsv12
        }
        do {
            switch trust.roots {
            case .system:
                tls.trustRoots = .default
                tls.additionalTrustRoots = []
            case .systemAnd(let certificates):
                tls.trustRoots = .default
                tls.additionalTrustRoots = [.certificates(try certificates.map { try NIOSSLCertificate($0) })]
            case .only(let certificates):
                tls.trustRoots = .certificates(try certificates.map { try NIOSSLCertificate($0) })
                tls.additionalTrustRoots = []
            }
        } catch {
            throw ServerTrustError("A certificate of the roots is not valid for BoringSSL. Check its file.")
        }
        configuration.tlsConfiguration = tls
        if trust.applicationProtocols == .http1 {
            configuration.httpVersion = .http1Only
        }
        return configuration
    }

    /// Makes each new connection fail, before a request is written to it, if it does not match the pins of its host.
    mutating func checkPins(
        of host: HostTrust,
        reporting report: @escaping @Sendable (PinMismatch) -> Void
    ) {
        // A mismatch is permanent, and each attempt would report it again.
        connectionPool.retryConnectionEstablishment = false
        let check: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            let compare: @Sendable () -> EventLoopFuture<Void> = {
                channel.compare(with: host, reporting: report)
            }
            // Compare synchronously, so that the guards after it see the first byte of a response.
            return channel.eventLoop.inEventLoop ? compare() : channel.eventLoop.flatSubmit(compare)
        }
        http1_1ConnectionDebugInitializer = Self.checking(check, before: http1_1ConnectionDebugInitializer)
        http2ConnectionDebugInitializer = Self.checking(check, before: http2ConnectionDebugInitializer)
    }

    private static func checking(
        _ check: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>,
        before own: (@Sendable (any Channel) -> EventLoopFuture<Void>)?
    ) -> @Sendable (any Channel) -> EventLoopFuture<Void> {
        { channel in
            check(channel).flatMap { own?(channel) ?? channel.eventLoop.makeSucceededVoidFuture() }
        }
    }
}

extension Channel {
    /// Compares the server's certificate with pins, on the event loop of the channel, and closes the channel if none
    /// of the enforced pins matches.
    fileprivate func compare(
        with host: HostTrust,
        reporting report: (PinMismatch) -> Void
    ) -> EventLoopFuture<Void> {
        let security = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        let certificate = (security?.handler as? NIOSSLClientHandler)?.peerCertificate
            .flatMap { try? Certificate(der: Data($0.toDERBytes())) }
        guard let mismatch = host.mismatch(with: certificate.map { [$0] } ?? []) else {
            return eventLoop.makeSucceededVoidFuture()
        }
        guard host.pins?.mode != .reportOnly else {
            report(mismatch)
            return eventLoop.makeSucceededVoidFuture()
        }
        // The socket is closed below TLS, so that nothing more is sent. AsyncHTTPClient requires that a connection is
        // closed by the time it fails.
        if let security {
            security.close(promise: nil)
        } else {
            close(promise: nil)
        }
        return closeFuture.flatMapThrowing { throw RefusedPins(mismatch: mismatch) }
    }
}

extension NIOSSLCertificate {
    fileprivate convenience init(_ certificate: Certificate) throws {
        try self.init(bytes: [UInt8](certificate.der), format: .der)
    }
}

/// A connection was closed because its server has none of the pinned keys.
struct RefusedPins: Error {
    let mismatch: PinMismatch
}
#endif
