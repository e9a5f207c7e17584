#if URLSession
#if !canImport(FoundationNetworking)
import Foundation
import HTTPTypes

extension URLSession {
    /// Makes a session whose tasks are exchanges.
    static func forExchanges(_ configuration: URLSessionConfiguration) -> URLSession {
        guard let configuration = configuration.copy() as? URLSessionConfiguration else {
            preconditionFailure("A copy of a URLSessionConfiguration is one.")
        }
        // Both would act behind the stack's back.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        return URLSession(configuration: configuration)
    }

    /// Makes the task of an exchange, which hears from it what happens.
    func task(for exchange: URLSessionExchange, with request: URLRequest) -> URLSessionTask {
        let task = dataTask(with: request)
        task.delegate = URLSessionTaskListener(exchange: exchange)
        return task
    }

    /// The session that runs this one's exchanges: itself.
    func hostForExchanges(of request: HTTPRequestData) throws -> URLSession {
        self
    }
}

/// The delegate of one task: tells its exchange what happens.
///
/// A task's delegate comes before the session's, so a session that has one keeps it for what is not answered here, the
/// challenge for the server's certificate above all.
private final class URLSessionTaskListener: NSObject, URLSessionDataDelegate {
    private let exchange: URLSessionExchange

    init(exchange: URLSessionExchange) {
        self.exchange = exchange
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange.receive(data)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange.sent(totalBytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // Redirects are followed by the library's rules. Answered with nil, the redirect is the response.
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange.complete(with: error)
    }
}
#endif
#endif
