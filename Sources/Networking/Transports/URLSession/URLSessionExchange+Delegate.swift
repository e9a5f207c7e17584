#if URLSession
import Foundation
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

    #if canImport(FoundationNetworking)
    /// Ends with the 401 that has arrived by now, body and all: with any other answer the task never ends.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        endWithWhatArrived()
        Self.interruptions.async { completionHandler(.cancelAuthenticationChallenge, nil) }
    }
    #endif

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
