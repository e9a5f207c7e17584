#if URLSession && !canImport(FoundationNetworking)
import Foundation
import NetworkingCore

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
    func task(
        for exchange: URLSessionExchange,
        with request: URLRequest,
        sending upload: URLSessionUpload?
    ) -> URLSessionTask {
        var request = request
        request.httpBody = upload?.data
        let file = upload?.reading?.body.fileURL
        let task = file.map { uploadTask(with: request, fromFile: $0) } ?? dataTask(with: request)
        // A task's delegate comes before the session's; it passes on the challenges that are not the stack's.
        task.delegate = exchange
        return task
    }

    /// Answers a challenge as if its task had no delegate: with the session's delegate, or as the system does.
    func answer(
        _ challenge: URLAuthenticationChallenge,
        of task: URLSessionTask,
        with completionHandler: @escaping ChallengeHandler
    ) {
        // Both methods are optional, so these are nil where the delegate lacks them.
        let answerOfSession: ((URLSession, URLAuthenticationChallenge, @escaping ChallengeHandler) -> Void)? =
            delegate?.urlSession(_:didReceive:completionHandler:)
        let answerOfTask:
            ((URLSession, URLSessionTask, URLAuthenticationChallenge, @escaping ChallengeHandler) -> Void)? =
                (delegate as? any URLSessionTaskDelegate)?.urlSession(_:task:didReceive:completionHandler:)
        if challenge.protectionSpace.isForSession, let answerOfSession {
            answerOfSession(self, challenge, completionHandler)
        } else if let answerOfTask {
            answerOfTask(self, task, challenge, completionHandler)
        } else {
            completionHandler(.performDefaultHandling, nil)
        }
    }

    typealias ChallengeHandler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// The cookies of this session's exchanges: the session's own business.
    var cookiesForExchanges: URLSessionCookies? {
        nil
    }

    /// Whether the session asks for content codings: URLSession checks them to their end here.
    var asksForCodings: Bool {
        true
    }

    /// Makes one exchange as a task of this session.
    func respondAsTransport(to request: HTTPRequestData) async throws -> HTTPResponseData {
        try await respond(to: request)
    }
}

extension URLSessionUpload {
    /// Whether a body can be read while URLSession sends it: a file, which it reads itself.
    static func canRead(_ body: RequestBody) -> Bool {
        body.fileURL != nil
    }

    /// Whether a file that is sent needs a name: URLSession opens it.
    static var opensFilesByName: Bool {
        true
    }
}

/// The file that is sent, and whether it was the same all the time.
struct UploadReading: Sendable {
    let body: RequestBody
    let length: Int64
    private let snapshot: FileSnapshot?

    init(_ body: RequestBody, length: Int64) {
        self.body = body
        self.length = length
        snapshot = Self.snapshot(of: body)
    }

    var failure: RequestBody.Failure? {
        Self.snapshot(of: body) == snapshot ? nil : .changed(body.fileURL?.path ?? "")
    }

    private static func snapshot(of body: RequestBody) -> FileSnapshot? {
        try? body.fileURL.map { try FileSnapshot(of: $0.path) }
    }
}

extension URLSessionTask {
    /// The number of bytes of the response's body on the wire; `nil` if only the end tells.
    ///
    /// - Parameter sentBefore: The number of bytes of the request's body that earlier connections have taken.
    /// - Returns: The number of bytes.
    func countOfEncodedBytesReceived(sentBefore: Int64) -> Int64? {
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
