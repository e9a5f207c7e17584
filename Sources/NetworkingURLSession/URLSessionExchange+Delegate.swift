#if URLSession
import Foundation
import NetworkingCore
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLSessionExchange: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        receive(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent(totalBytesSent)
    }

    #if canImport(FoundationNetworking)
    /// Has the body read anew: libcurl begins again when a connection that was kept turns out to be closed.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(newBodyStream())
    }
    #endif

    /// Refuses the redirect, which makes it the response: the library follows by its own rules.
    ///
    /// On Linux an answer to a task whose cancellation has begun crashes the process, so such a task gets none.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        guard task.state == .running else { return }
        #endif
        completionHandler(nil)
    }

    /// Keeps the response out of the session's cache: what is stored is the stack's decision.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Makes a 401 the response, without an attempt with credentials that the session has stored.
    ///
    /// On Apple's platforms every other challenge is answered as if the task had no delegate. On Linux there is no
    /// other, and any other answer leaves the task waiting for ever: the exchange ends with the head and the body that
    /// came before the challenge.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        endWithWhatArrived()
        reply { completionHandler(.cancelAuthenticationChallenge, nil) }
        #else
        if challenge.protectionSpace.isOfServer {
            // Each scheme of the response is a challenge of its own; after the last, the 401 is the response.
            completionHandler(.rejectProtectionSpace, nil)
        } else {
            session.answer(challenge, of: task, with: completionHandler)
        }
        #endif
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        measure(metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // A redirect without a usable Location is not announced on Linux.
        if error == nil, !hasHead, let response = task.response {
            receive(response)
        }
        complete(with: error)
    }
}
#endif
