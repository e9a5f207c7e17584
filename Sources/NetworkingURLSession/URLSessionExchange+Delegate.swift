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
    /// Provides the body again: libcurl restarts a request if a kept connection turns out to be closed.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(newBodyStream())
    }
    #endif

    /// Refuses the redirect, which makes it the response, because the library follows redirects by its own rules.
    ///
    /// On Linux, a reply to a task after the start of its cancellation crashes the process, so such a task gets no
    /// reply.
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

    /// Keeps the response out of the session's cache, because the stack decides which responses are stored.
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
    /// On Apple's platforms, every other challenge is handled as if the task had no delegate. On Linux there are no
    /// other challenges, and any other reply leaves the task waiting forever. The exchange therefore ends with the head
    /// and the body that arrived before the challenge.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(FoundationNetworking)
        endWithReceivedBody()
        reply { completionHandler(.cancelAuthenticationChallenge, nil) }
        #else
        if challenge.protectionSpace.isOfServer {
            // Each scheme of the response is a separate challenge. After the last, the 401 is the response.
            completionHandler(.rejectProtectionSpace, nil)
        } else if let decision = trust?.decision(on: challenge, host) {
            record(decision.failure, decision.mismatch)
            completionHandler(decision.disposition, decision.credential)
        } else {
            session.respond(to: challenge, of: task, with: completionHandler)
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
