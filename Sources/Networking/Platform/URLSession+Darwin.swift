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
    func task(
        for exchange: URLSessionExchange,
        with request: URLRequest,
        sending upload: URLSessionUpload?
    ) -> URLSessionTask {
        var request = request
        request.httpBody = upload?.data
        let file = upload?.reading?.body.fileURL
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

extension URLSessionUpload {
    /// Whether a body can be read while URLSession sends it: a file, which it reads itself.
    static func canRead(_ body: RequestBody) -> Bool {
        body.fileURL != nil
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
