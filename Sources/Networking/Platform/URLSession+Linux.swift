#if URLSession
#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import Synchronization

extension URLSession {
    /// Makes a session whose tasks are exchanges.
    static func forExchanges(_ configuration: URLSessionConfiguration) -> URLSession {
        // The initialiser copies it, but what is set here must not reach the caller's.
        guard let configuration = configuration.copy() as? URLSessionConfiguration else {
            preconditionFailure("A copy of a URLSessionConfiguration is one.")
        }
        // With a cache, a task that is cancelled early crashes the process; and both would act behind the stack's back.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        // It is cut to whole seconds, and what is below one ends at once.
        configuration.timeoutIntervalForRequest = max(1, configuration.timeoutIntervalForRequest.rounded(.up))
        let relay = URLSessionRelay(cookies: URLSessionCookies(configuration))
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.httpCookieAcceptPolicy = .never
        return URLSession(configuration: configuration, delegate: relay, delegateQueue: InlineQueue())
    }

    /// The cookies of this session's exchanges.
    var cookiesForExchanges: URLSessionCookies? {
        (delegate as? URLSessionRelay)?.cookies
    }

    /// Makes the task of an exchange, which hears from it what happens.
    func task(for exchange: URLSessionExchange, with request: URLRequest, uploading file: URL?) -> URLSessionTask {
        let task = file.map { uploadTask(with: request, fromFile: $0) } ?? dataTask(with: request)
        task.delegate = exchange
        return task
    }

    /// The session that runs this one's exchanges: a companion, made from a copy of the configuration at first use.
    func hostForExchanges(of request: HTTPRequestData) throws -> URLSession {
        guard delegate == nil else {
            throw NetworkingError(
                .invalidRequest,
                request: request,
                reason: "This URLSession has a delegate of its own, which exchanges could not honour on Linux. "
                    + "Use URLSessionTransport(configuration:), or a session without a delegate."
            )
        }
        return Companions.shared.companion(of: self)
    }
}

extension URLSessionTask {
    /// How many bytes of body have arrived as they are on the wire; it runs a buffer behind.
    ///
    /// libcurl counts them before it decodes, and a task's progress is all that hands the count out.
    var countOfEncodedBytesReceived: Int64? {
        progress.completedUnitCount - countOfBytesSent
    }
}

extension Error {
    /// What libcurl says beyond its code.
    ///
    /// swift-corelibs-foundation has six codes for a hundred of libcurl's, and calls some answers a bad URL; only the text
    /// tells what it was. A text that nobody knows leaves it at the code.
    var transferFault: TransferFault? {
        guard let code = (self as? URLError)?.code else { return nil }
        switch code {
        case .badServerResponse:
            return .emptyReply
        case .cannotConnectToHost:
            // Also what broke later, on a host whose first address refused: the error of that attempt is kept.
            guard let text = (self as? URLError)?.userInfo[NSLocalizedDescriptionKey] as? String,
                !text.contains("onnect")
            else { return nil }
            return text.contains("transfer closed") ? .truncated : .emptyReply
        case .unknown, .unsupportedURL:
            let text = localizedDescription
            func mentions(_ words: String...) -> Bool { words.contains { text.contains($0) } }
            if mentions("SSL", "TLS", "certificate") { return .untrusted }
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

/// The companions of the sessions that serve as components.
///
/// Process-wide, since a URLSession has no place to keep one: without this, every send would make a session.
private final class Companions: Sendable {
    static let shared = Companions()

    private struct Entry {
        weak var session: URLSession?
        let companion: URLSession
    }

    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    func companion(of session: URLSession) -> URLSession {
        let (companion, orphans) = entries.withLock { entries -> (URLSession, [URLSession]) in
            if let entry = entries[ObjectIdentifier(session)], entry.session === session {
                return (entry.companion, [])
            }
            let orphans = entries.values.filter { $0.session == nil }.map(\.companion)
            entries = entries.filter { $0.value.session != nil }
            let companion = URLSession.forExchanges(session.configuration)
            entries[ObjectIdentifier(session)] = Entry(session: session, companion: companion)
            return (companion, orphans)
        }
        for orphan in orphans {
            orphan.finishTasksAndInvalidate()
        }
        return companion
    }
}

/// Runs what URLSession has to say on the queue where it happens, instead of on a thread of its own a while later.
///
/// swift-corelibs-foundation hands each call of a delegate to this queue with `addOperation`, from the serial queue of
/// the session, so the calls come one at a time and in order without a queue of ours; the trip would cost a tenth of a
/// small exchange. What is called here must not call back into a session or a task: `dataTask(with:)`, `resume()`,
/// `cancel()` and the answer to a challenge wait for that same queue.
// @unchecked because OperationQueue is; it adds no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override init() {
        super.init()
        // Should a later version add operations by other means.
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}

/// The delegate of a session for exchanges: passes each call on to the exchange, which is the task's own delegate.
///
/// Without it a task's delegate hears of redirects and challenges, but never of the response, the body or the end.
private final class URLSessionRelay: NSObject, URLSessionDataDelegate {
    let cookies: URLSessionCookies?

    init(cookies: URLSessionCookies?) {
        self.cookies = cookies
    }

    private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        task.delegate as? URLSessionExchange
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange(of: dataTask)?
            .urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?
            .urlSession(
                session,
                task: task,
                didSendBodyData: bytesSent,
                totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend
            )
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        exchange(of: task)?
            .urlSession(
                session,
                task: task,
                willPerformHTTPRedirection: response,
                newRequest: request,
                completionHandler: completionHandler
            )
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        exchange(of: task)?
            .urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange(of: task)?.urlSession(session, task: task, didCompleteWithError: error)
    }
}
#endif
#endif
