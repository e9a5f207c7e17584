#if URLSession && !canImport(FoundationNetworking)
import Foundation
import NetworkingCore

extension URLSession {
    /// Creates a session for exchanges.
    static func forExchanges(_ configuration: URLSessionConfiguration) -> URLSession {
        let configuration = configuration.copied
        // Both would act without the stack's knowledge.
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        return URLSession(configuration: configuration)
    }

    /// Creates the task of an exchange, with the exchange as its delegate.
    func task(
        for exchange: URLSessionExchange,
        with request: URLRequest,
        sending upload: URLSessionUpload?
    ) -> URLSessionTask {
        var request = request
        request.httpBody = upload?.data
        let file = upload?.reading?.body.fileURL
        let task = file.map { uploadTask(with: request, fromFile: $0) } ?? dataTask(with: request)
        // A task's delegate is called before the session's. It forwards the challenges that the stack does not handle.
        task.delegate = exchange
        return task
    }

    /// Handles a challenge as if its task had no delegate: with the session's delegate, or with the system's default.
    func respond(
        to challenge: URLAuthenticationChallenge,
        of task: URLSessionTask,
        with completionHandler: @escaping ChallengeHandler
    ) {
        // Both methods are optional, so these are `nil` if the delegate does not implement them.
        let sessionHandler: ((URLSession, URLAuthenticationChallenge, @escaping ChallengeHandler) -> Void)? =
            delegate?.urlSession(_:didReceive:completionHandler:)
        let taskHandler:
            ((URLSession, URLSessionTask, URLAuthenticationChallenge, @escaping ChallengeHandler) -> Void)? =
                (delegate as? any URLSessionTaskDelegate)?.urlSession(_:task:didReceive:completionHandler:)
        if challenge.protectionSpace.isForSession, let sessionHandler {
            sessionHandler(self, challenge, completionHandler)
        } else if let taskHandler {
            taskHandler(self, task, challenge, completionHandler)
        } else {
            completionHandler(.performDefaultHandling, nil)
        }
    }

    typealias ChallengeHandler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// The cookies of this session's exchanges; `nil` because the session handles them itself.
    var cookiesForExchanges: URLSessionCookies? {
        nil
    }

    /// The Accept-Encoding that the session sends: any, because URLSession checks coded bodies to their end.
    var acceptEncoding: String? {
        "*"
    }
}

extension URLSessionUpload {
    /// Returns whether a body can be read while URLSession sends it, which is the case for a file.
    static func canRead(_ body: RequestBody) -> Bool {
        body.fileURL != nil
    }

    /// Whether a file needs a name to be sent, which is the case because URLSession opens it.
    static var opensFilesByName: Bool {
        true
    }
}

/// The file that is sent, with a check that it has not changed meanwhile.
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

    /// Whether ``failure`` reads the state of the file from the disk.
    var checksDisk: Bool {
        true
    }

    private static func snapshot(of body: RequestBody) -> FileSnapshot? {
        try? body.fileURL.map { try FileSnapshot(of: $0.path) }
    }
}

extension URLSessionTask {
    /// Returns the number of bytes of the response's body on the wire; `nil` if it is known only at the end.
    ///
    /// - Parameter sentBefore: The number of bytes of the request's body that earlier connections have taken.
    /// - Returns: The number of bytes.
    func countOfEncodedBytesReceived(sentBefore: Int64) -> Int64? {
        (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
    }
}

extension Error {
    /// The fault that the code does not express; the codes of this platform express nearly all of them.
    var transferFault: TransferFault? {
        (self as? URLError)?.code == .cannotDecodeContentData ? .undecodable : nil
    }
}
#endif
