#if AsyncHTTPClient
import AsyncHTTPClient
import FoundationForNetworking
import Networking
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The clients of a transport with a ``ServerTrust``: one for hosts without pins and identities, and one for each other
/// host.
///
/// A connection does not know the host that it was made for, so the client of a host with pins makes connections to
/// that host alone. All clients share the event loops.
final class TrustedClients: Sendable {
    let common: HTTPClient

    private let trust: ServerTrust
    private let configuration: HTTPClient.Configuration
    private let identities: [LoadedIdentity]
    private let group: any EventLoopGroup
    private let clients = Mutex<[Route: Entry]>([:])

    private struct Route: Hashable {
        let host: String
        let hasPins: Bool
    }

    private struct Entry {
        let client: HTTPClient
        let reports: PinReports
    }

    /// Creates the clients.
    ///
    /// - Throws: `ServerTrustError` if this transport cannot enforce the value.
    init(
        _ configuration: HTTPClient.Configuration,
        trust: ServerTrust,
        eventLoopGroup: any EventLoopGroup
    ) throws(ServerTrustError) {
        guard ClientBootstrap(validatingGroup: eventLoopGroup) != nil else {
            throw ServerTrustError(
                "The event loops are those of Network.framework, which does not show the certificates of servers. Pass "
                    + "MultiThreadedEventLoopGroup.singleton."
            )
        }
        if let pins = trust.pins.first(where: { $0.scope == .validatedChain }) {
            throw ServerTrustError(
                "The pins of \(pins.host) have the scope validatedChain, but AsyncHTTPClient does not show the chain that "
                    + "it has validated. Pin the server's own key, or trust only its authority with roots: .only(_:)."
            )
        }
        identities = try trust.clientIdentities.map { identity throws(ServerTrustError) in
            try LoadedIdentity(identity)
        }
        self.trust = trust
        self.configuration = try configuration.applying(trust)
        group = eventLoopGroup
        common = HTTPClient(eventLoopGroup: group, configuration: self.configuration)
    }

    /// Makes one exchange, over a connection that matches the pins of its host.
    func respond(to request: HTTPRequestData, counting streams: OpenStreams) async throws -> HTTPResponseData {
        let pins = try trust.applicablePins(for: request)
        guard request.scheme == "https", let host = request.trustHost,
            let entry = entry(for: host, pins, trust.identityIndex(for: host))
        else { return try await common.respond(to: request, counting: streams) }
        do {
            defer {
                for mismatch in entry.reports.take() {
                    request.emit(TrustEvent.mismatchReported(mismatch))
                }
            }
            return try await entry.client.respond(to: request, counting: streams)
        } catch let error as NetworkingError {
            if let mismatch = error.pinMismatch {
                request.emit(TrustEvent.mismatchRefused(mismatch))
            }
            throw error
        }
    }

    /// Returns the client of a host; `nil` if the common one serves it.
    private func entry(for host: String, _ pins: HostPins?, _ identity: Int?) -> Entry? {
        guard pins != nil || identity != nil else { return nil }
        return clients.withLock { clients in
            let route = Route(host: host, hasPins: pins != nil)
            if let entry = clients[route] { return entry }
            var configuration = configuration
            if let identity {
                identities[identity].apply(to: &configuration)
            }
            let reports = PinReports()
            if let pins {
                configuration.checkPins(pins, of: host) { reports.append($0) }
            }
            let entry = Entry(client: HTTPClient(eventLoopGroup: group, configuration: configuration), reports: reports)
            clients[route] = entry
            return entry
        }
    }

    /// Every client so far.
    private var all: [HTTPClient] {
        [common] + clients.withLock { $0.values.map(\.client) }
    }

    /// Shuts all clients down, also if one of them fails.
    func shutdown() async throws {
        var failure: (any Error)?
        for client in all {
            do {
                try await client.shutdown()
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Starts the shutdown of all clients without waiting for it.
    func beginShutdown() {
        for client in all {
            client.shutdown { _ in }
        }
    }
}

/// The mismatches of report-only pins that no request has reported yet.
private final class PinReports: Sendable {
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
private struct LoadedIdentity: Sendable {
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
    fileprivate func applying(_ trust: ServerTrust) throws(ServerTrustError) -> HTTPClient.Configuration {
        var configuration = self
        var tls = tlsConfiguration ?? .makeClientConfiguration()
        // Pins never replace the validation.
        tls.certificateVerification = .fullVerification
        // Only the identities of the trust are presented, and only to their hosts.
        tls.certificateChain = []
        tls.privateKey = nil
        tls.minimumTLSVersion = trust.minimumTLSVersion == .v13 ? .tlsv13 : .tlsv12
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
    fileprivate mutating func checkPins(
        _ pins: HostPins,
        of host: String,
        reporting report: @escaping @Sendable (PinMismatch) -> Void
    ) {
        // A mismatch does not go away, and each attempt would report it.
        connectionPool.retryConnectionEstablishment = false
        let check: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            let compare: @Sendable () -> EventLoopFuture<Void> = {
                channel.compare(with: pins, of: host, reporting: report)
            }
            // At once, so that the guards after it see the first byte of a response.
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
    /// of enforced pins matches.
    fileprivate func compare(
        with pins: HostPins,
        of host: String,
        reporting report: (PinMismatch) -> Void
    ) -> EventLoopFuture<Void> {
        let security = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
        let certificate = (security?.handler as? NIOSSLClientHandler)?.peerCertificate
            .flatMap { try? Certificate(der: Data($0.toDERBytes())) }
        guard let mismatch = pins.mismatch(with: certificate.map { [$0] } ?? [], of: host) else {
            return eventLoop.makeSucceededVoidFuture()
        }
        guard pins.mode == .enforced else {
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
