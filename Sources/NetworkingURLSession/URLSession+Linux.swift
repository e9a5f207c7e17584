#if URLSession && canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import NetworkingCore
import Synchronization

extension URLSession {
    /// Creates a session for exchanges.
    static func forExchanges(_ configuration: URLSessionConfiguration) -> URLSession {
        // The initializer copies the configuration, but the changes made here must not reach the caller's object.
        let configuration = configuration.copied
        // With a cache, a task that is cancelled early crashes the process. Both would also act without the stack's
        // knowledge.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        // The value is truncated to whole seconds, and a value below one second ends the request at once.
        configuration.timeoutIntervalForRequest = max(1, configuration.timeoutIntervalForRequest.rounded(.up))
        let acceptEncoding = configuration.httpAdditionalHeaders?
            .first { ($0.key.base as? String)?.lowercased() == "accept-encoding" }
            .map { $0.value as? String ?? "" }
        let relay = URLSessionRelay(cookies: URLSessionCookies(configuration), acceptEncoding: acceptEncoding)
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        return URLSession(configuration: configuration, delegate: relay, delegateQueue: InlineQueue())
    }

    /// The cookies of this session's exchanges.
    var cookiesForExchanges: URLSessionCookies? {
        (delegate as? URLSessionRelay)?.cookies
    }

    /// The Accept-Encoding that the session sends; `nil` unless its configuration has one.
    ///
    /// libcurl does not check that a coded body is complete, and it has no option to leave the decoding to the library.
    var acceptEncoding: String? {
        (delegate as? URLSessionRelay)?.acceptEncoding
    }

    /// Creates the task of an exchange, with the exchange as its delegate.
    func task(
        for exchange: URLSessionExchange,
        with request: URLRequest,
        sending upload: URLSessionUpload?
    ) -> URLSessionTask {
        var request = request
        request.httpBody = upload?.data
        if let reading = upload?.reading {
            // An upload task is not used: it reads its file itself, and crashes the process if its transfer ends during
            // a read. `httpBody` is not used either: it is not sent again if libcurl finds a kept connection closed,
            // and the request then hangs.
            request.httpBodyStream = UploadStream(reading)
            // Without a length, libcurl would use chunked transfer encoding. A `Transfer-Encoding` field in the request
            // prevents that, and libcurl does not send a blank one.
            var fields = request.allHTTPHeaderFields ?? [:]
            fields["Transfer-Encoding"] = " "
            fields["Content-Length"] = "\(reading.length)"
            request.allHTTPHeaderFields = fields
        }
        let task = dataTask(with: request)
        task.delegate = exchange
        return task
    }

    /// Performs one exchange over this session's companions, created from a copy of its configuration at first use.
    func respondAsTransport(to request: HTTPRequestData) async throws -> HTTPResponseData {
        guard delegate == nil else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "This URLSession has a delegate, which the library cannot call on Linux. "
                    + "Use URLSessionTransport(configuration:), or a session without a delegate."
            )
        }
        return try await Companions.shared.pool(of: self).respond(to: request)
    }
}

extension URLSession {
    /// Returns why a request may have waited for a connection, if open streams occupy all of them; otherwise `nil`.
    func shortage(for request: HTTPRequestData) -> String? {
        Companions.shared.pool(of: self).connectionShortage(for: request)
    }
}

extension URLSessionUpload {
    /// Returns whether a body can be read while URLSession sends it.
    static func canRead(_ body: RequestBody) -> Bool {
        true
    }

    /// Whether a file needs a name to be sent.
    static var opensFilesByName: Bool {
        false
    }
}

extension URLSessionTask {
    /// Returns how many bytes of the body have arrived, as counted on the wire; the count is one buffer behind.
    ///
    /// libcurl counts them before it decodes. Only the progress of a task includes this count, added to the bytes that
    /// the current connection has sent.
    ///
    /// - Parameter sentBefore: The number of bytes of the request's body that earlier connections have taken.
    /// - Returns: The number of bytes.
    func countOfEncodedBytesReceived(sentBefore: Int64) -> Int64? {
        progress.completedUnitCount - (countOfBytesSent - sentBefore)
    }
}

extension Error {
    /// The text of libcurl for the first failure of a transfer.
    private var textOfLibcurl: String? {
        (self as? URLError)?.userInfo[NSLocalizedDescriptionKey] as? String
    }

    /// The fault that libcurl's text describes beyond its code.
    ///
    /// swift-corelibs-foundation has six codes for a hundred of libcurl's, and reports some responses as a bad URL.
    /// Only the text identifies the fault. If the text is not recognized, the code alone is used.
    var transferFault: TransferFault? {
        guard let code = (self as? URLError)?.code else { return nil }
        switch code {
        case .badServerResponse:
            return .emptyReply
        case .cannotConnectToHost:
            // This code also stands for a failure on an established connection, if another address of the host refused
            // one: the code is that of the last refusal, and the text is that of the first failure.
            guard let text = textOfLibcurl, !text.contains("connect to ") else { return nil }
            return text.contains("transfer closed") ? .truncated : .emptyReply
        case .cannotFindHost:
            guard let text = textOfLibcurl, !text.contains("resolve") else { return nil }
            return .emptyReply
        case .unsupportedURL:
            // The URL was checked before, so here the code means a response without a status line.
            guard let text = textOfLibcurl, !text.contains("rotocol") else { return nil }
            return .invalidHead(text.contains("HTTP") ? text : "no status line")
        case .unknown:
            let text = localizedDescription
            func mentions(_ words: String...) -> Bool { words.contains { text.contains($0) } }
            // The connection was secure. An alert means that the server rejects this client; TLS 1.3 sends it after the
            // handshake.
            if mentions("SSL_read", "SSL_write"), !mentions("alert") { return nil }
            if mentions("SSL", "TLS", "certificate") { return .untrusted(text) }
            if mentions("transfer closed") { return .truncated }
            if mentions("hexadecimal", "hunk") { return .invalidBody(text) }
            if mentions("ncoding", "Failed writing received data") { return .undecodable }
            if mentions("eader", "HTTP version", "HTTP/0.9", "response code", "Content-Length", "Out of memory") {
                return .invalidHead(text)
            }
            return nil
        default:
            return nil
        }
    }
}

/// The companions of the sessions that are used as components.
///
/// They are stored for the whole process, because a URLSession has no property for its companion. Without this, every
/// send would create a session.
private final class Companions: Sendable {
    static let shared = Companions()

    private struct Entry {
        weak var session: URLSession?
        let pool: URLSessionPool
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// The number of uses since the last search for released sessions.
        var uses = 0
    }

    private let state = Mutex(State())

    func pool(of session: URLSession) -> URLSessionPool {
        // The pools of released sessions end with their last reference, outside the lock.
        let (pool, _) = state.withLock { state -> (URLSessionPool, [Entry]) in
            state.uses += 1
            let known = state.entries[ObjectIdentifier(session)].flatMap { $0.session === session ? $0.pool : nil }
            // Searching after as many uses as there are entries costs one look at an entry for each use.
            if let known, state.uses <= state.entries.count { return (known, []) }
            state.uses = 0
            let orphans = state.entries.values.filter { $0.session == nil }
            if !orphans.isEmpty {
                state.entries = state.entries.filter { $0.value.session != nil }
            }
            if let known { return (known, orphans) }
            let pool = URLSessionPool(session.configuration, reuse: .standard)
            state.entries[ObjectIdentifier(session)] = Entry(session: session, pool: pool)
            return (pool, orphans)
        }
        return pool
    }
}

/// A queue that runs URLSession's callbacks at once on the calling thread, instead of later on another thread.
///
/// swift-corelibs-foundation passes each delegate call to this queue with `addOperation`, from the serial queue of the
/// session. The calls therefore arrive one at a time and in order without another queue, and switching threads would
/// take a tenth of a small exchange. A callback must not call back into a session or a task: `dataTask(with:)`,
/// `resume()`, `cancel()` and the reply to a challenge wait for that same queue.
// @unchecked because OperationQueue is; this class adds no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override init() {
        super.init()
        // A precaution in case a later version adds operations by other means.
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}
#endif
