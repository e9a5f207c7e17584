#if AsyncHTTPClient
import AsyncHTTPClient
import FoundationForNetworking
import NetworkingTrust
import NetworkingCore
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The clients of a transport with a ``ServerTrust``: one for hosts without pins and identities, and one for each other
/// host.
///
/// A connection does not know the host that it was made for, so the client of a host with pins makes connections to
/// that host alone. All clients share the event loops. A pattern can match any number of hosts, so the number of
/// clients without a request is limited, and the least recently used client is shut down.
final class TrustedClients: Sendable {
    /// The maximum number of clients kept for hosts without a request in progress.
    static let maximumIdle = 64

    let common: HTTPClient

    private let trust: ServerTrust
    private let configuration: HTTPClient.Configuration
    private let identities: [LoadedIdentity]
    private let group: any EventLoopGroup
    private let state = Mutex(State())

    private struct State {
        var entries = KeyedPool<HostTrust, Entry>(maximumIdle: TrustedClients.maximumIdle)
        var isShutDown = false
        /// The number of removed clients that are being shut down.
        var closing = 0
        /// The shutdown, which waits for these clients.
        var waiter: Suspension<Void>?
    }

    private struct Entry {
        let client: HTTPClient
        let reports: PinReports
    }

    /// Creates the clients.
    ///
    /// - Throws: `ServerTrustError` if this transport cannot enforce `trust`, or an identity cannot be read.
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
                "The pins of \(pins.host) have the scope validatedChain, but AsyncHTTPClient does not show the chain "
                    + "that it has validated. "
                    + "Pin the server's own key, or trust only its authority with roots: .only(_:)."
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

    /// The number of hosts with a separate client.
    var hostCount: Int {
        state.withLock { $0.entries.resources.count }
    }

    /// Makes one exchange, over a connection that matches the pins of its host.
    func respond(
        to request: HTTPRequestData,
        as traits: ClientTraits,
        counting streams: OpenStreams
    ) async throws -> HTTPResponseData {
        guard let host = try trust.hostTrust(for: request) else {
            return try await common.respond(to: request, as: traits, counting: streams)
        }
        guard let entry = borrow(host) else { throw request.transportIsShutDown }
        defer { giveBack(host) }
        do {
            defer {
                for mismatch in entry.reports.take() {
                    request.emit(TrustEvent.mismatchReported(mismatch))
                }
            }
            return try await entry.client.respond(to: request, as: traits, counting: streams)
        } catch let error as NetworkingError {
            if let mismatch = error.pinMismatch {
                request.emit(TrustEvent.mismatchRefused(mismatch))
            }
            throw error
        }
    }

    /// Returns the client of a host; `nil` after the shutdown.
    private func borrow(_ host: HostTrust) -> Entry? {
        state.withLock { state in
            // An exchange that started before the shutdown must not create a client that is never shut down.
            guard !state.isShutDown else { return nil }
            return state.entries.borrow(host) { makeEntry(for: host) }
        }
    }

    private func makeEntry(for host: HostTrust) -> Entry {
        var configuration = configuration
        if let index = host.identityIndex {
            identities[index].apply(to: &configuration)
        }
        let reports = PinReports()
        if host.pins != nil {
            configuration.checkPins(of: host) { reports.append($0) }
        }
        return Entry(client: HTTPClient(eventLoopGroup: group, configuration: configuration), reports: reports)
    }

    /// Ends the use of a host's client, and shuts a client down if too many are unused.
    private func giveBack(_ host: HostTrust) {
        let surplus = state.withLock { state in
            let surplus = state.entries.giveBack(host)
            if surplus != nil {
                state.closing += 1
            }
            return surplus
        }
        guard let surplus else { return }
        surplus.client.shutdown { [self] _ in
            let waiter = state.withLock { state in
                state.closing -= 1
                return state.closing == 0 ? state.waiter : nil
            }
            waiter?.resume()
        }
    }

    /// Removes all clients, and lets no exchange create another one.
    private func removeAll() -> [HTTPClient] {
        [common]
            + state.withLock { state in
                state.isShutDown = true
                return state.entries.removeAll().map(\.client)
            }
    }

    /// Shuts all clients down, also if one of them fails.
    func shutdown() async throws {
        var failure: (any Error)?
        for client in removeAll() {
            do {
                try await client.shutdown()
            } catch {
                failure = failure ?? error
            }
        }
        let waiter = Suspension<Void>()
        let isClosing = state.withLock { state in
            state.waiter = waiter
            return state.closing > 0
        }
        if isClosing {
            try? await waiter.value()
        }
        if let failure { throw failure }
    }

    /// Starts the shutdown of all clients without waiting for it.
    func beginShutdown() {
        for client in removeAll() {
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
    fileprivate mutating func checkPins(
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
