#if URLSession
#if !canImport(FoundationNetworking)
import Foundation

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
    func task(for exchange: URLSessionExchange, with request: URLRequest, uploading file: URL?) -> URLSessionTask {
        let task = file.map { uploadTask(with: request, fromFile: $0) } ?? dataTask(with: request)
        // A task's delegate comes before the session's. What it does not answer, the challenge for the server's
        // certificate above all, stays with the session and its delegate.
        task.delegate = exchange
        return task
    }

    /// The cookies of this session's exchanges: the session's own business.
    var cookiesForExchanges: URLSessionCookies? {
        nil
    }

    /// The session that runs this one's exchanges: itself.
    func hostForExchanges(of request: HTTPRequestData) throws -> URLSession {
        self
    }
}

extension URLSessionTask {
    /// How many bytes of body have arrived as they are on the wire; nil where only the end tells.
    var countOfEncodedBytesReceived: Int64? {
        (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
    }
}

extension Error {
    /// What is known beyond the code: here the codes tell nearly everything.
    var transferFault: TransferFault? {
        (self as? URLError)?.code == .cannotDecodeContentData ? .undecodable : nil
    }
}
#endif
#endif
