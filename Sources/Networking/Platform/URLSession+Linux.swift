#if URLSession
#if canImport(FoundationNetworking)
import Foundation
import FoundationNetworking
import HTTPTypes
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
        return URLSession(configuration: configuration, delegate: URLSessionHub(), delegateQueue: InlineQueue())
    }

    /// Makes the task of an exchange, which hears from it what happens.
    func task(for exchange: URLSessionExchange, with request: URLRequest) -> URLSessionTask {
        guard let hub = delegate as? URLSessionHub else {
            preconditionFailure("Exchanges need a session that was made for them.")
        }
        let task = dataTask(with: request)
        hub.add(exchange, for: task)
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
/// the session; the trip costs a tenth of a small exchange. The order is that queue's, and a delegate that is called
/// here must not call back into the session; an exchange does not.
// @unchecked because OperationQueue is; it adds no state.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}

/// The delegate of a session for exchanges: tells each of them what happens to its task.
private final class URLSessionHub: NSObject, URLSessionDataDelegate {
    private let exchanges = Mutex<[Int: URLSessionExchange]>([:])

    func add(_ exchange: URLSessionExchange, for task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange(of: dataTask)?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.sent(totalBytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Redirects are followed by the library's rules: these would lose bodies and keep credentials.
        exchange(of: task)?.receive(response)
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Any other answer without a credential would wait for ever. What came before, head and body, is the answer.
        exchange(of: task)?.refuseChallenge()
        // From elsewhere, since the answer waits for the queue that calls here.
        DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchanges.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.complete(with: error)
    }
}
#endif
#endif
