import Crypto
import Foundation
import Networking
import NetworkingTestServer
import Synchronization

/// Simulates a bucket of S3.
///
/// It computes the signature of each request, and refuses a request with another signature.
package final class S3Service: Service {
    private let accessKeyID: String
    private let secretAccessKey: String
    private let objects = Mutex<[String: Data]>([:])

    package init(accessKeyID: String, secretAccessKey: String) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
    }

    package func script(_ server: TestServer) {
        server.route(.put, "/*") { [self] request in
            if let refusal = refusal(of: request) { return refusal }
            objects.withLock { $0[request.path] = request.body }
            return TestResponse(headerFields: [.eTag: "\"\(Self.digest(of: request.body))\""])
        }
        server.route(.get, "/*") { [self] request in
            if let refusal = refusal(of: request) { return refusal }
            guard let object = objects.withLock({ $0[request.path] }) else {
                return Self.error("NoSuchKey", status: .notFound)
            }
            return TestResponse(headerFields: [.contentType: "image/jpeg"], body: .data(object))
        }
    }

    private static func error(_ code: String, status: HTTPResponse.Status = .forbidden) -> TestResponse {
        TestResponse(
            status: status,
            headerFields: [.contentType: "application/xml"],
            body: .data(Data("<Error><Code>\(code)</Code></Error>".utf8))
        )
    }

    private func refusal(of request: RecordedRequest) -> TestResponse? {
        guard let signature = Signature(of: request) else { return Self.error("AccessDenied") }
        guard signature.credential.first == accessKeyID else { return Self.error("InvalidAccessKeyId") }
        if signature.payload != Signature.unsignedPayload, signature.payload != Self.digest(of: request.body) {
            return Self.error("XAmzContentSHA256Mismatch", status: .badRequest)
        }
        return signature.value == signature.expected(for: request, secretAccessKey: secretAccessKey)
            ? nil : Self.error("SignatureDoesNotMatch")
    }

    private static func digest(of data: Data) -> String {
        SHA256.hash(data: data).map { Self.hexadecimal($0) }.joined()
    }

    fileprivate static func hexadecimal(_ byte: UInt8) -> String {
        String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }
}

/// A signature by AWS Signature Version 4, from the Authorization field or from the query of a link.
private struct Signature {
    static let unsignedPayload = "UNSIGNED-PAYLOAD"

    /// The ID of the access key, the day, the region, the service and `aws4_request`.
    let credential: [String]
    let date: String
    let signedFields: [String]
    let payload: String
    let value: String

    init?(of request: RecordedRequest) {
        let query = request.queryValues
        if let value = query["X-Amz-Signature"] {
            credential = (query["X-Amz-Credential"] ?? "").components(separatedBy: "/")
            date = query["X-Amz-Date"] ?? ""
            signedFields = (query["X-Amz-SignedHeaders"] ?? "").components(separatedBy: ";")
            payload = Self.unsignedPayload
            self.value = value
        } else {
            let field = request.headerFields[.authorization] ?? ""
            guard field.hasPrefix("AWS4-HMAC-SHA256 ") else { return nil }
            let parameters = field.dropFirst("AWS4-HMAC-SHA256 ".count).components(separatedBy: ", ")
                .map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            let parts = Dictionary(parameters.map { ($0[0], $0.last ?? "") }) { first, _ in first }
            credential = (parts["Credential"] ?? "").components(separatedBy: "/")
            date = Self.field("x-amz-date", of: request)
            signedFields = (parts["SignedHeaders"] ?? "").components(separatedBy: ";")
            payload = Self.field("x-amz-content-sha256", of: request)
            value = parts["Signature"] ?? ""
        }
        guard credential.count == 5 else { return nil }
    }

    /// Returns the signature that the request has if it was made with the secret key.
    func expected(for request: RecordedRequest, secretAccessKey: String) -> String {
        let query = (request.query ?? "").split(separator: "&")
            .filter { !$0.hasPrefix("X-Amz-Signature=") }
            .map { $0.contains("=") ? String($0) : "\($0)=" }
            .sorted().joined(separator: "&")
        let fields = signedFields.map { "\($0):\(Self.field($0, of: request))\n" }.joined()
        let canonicalRequest = [
            request.method.rawValue, request.path, query, fields, signedFields.joined(separator: ";"), payload,
        ]
        let digest = SHA256.hash(data: Data(canonicalRequest.joined(separator: "\n").utf8))
            .map { S3Service.hexadecimal($0) }.joined()
        let scope = credential.dropFirst()
        let text = ["AWS4-HMAC-SHA256", date, scope.joined(separator: "/"), digest].joined(separator: "\n")
        var key = SymmetricKey(data: Data("AWS4\(secretAccessKey)".utf8))
        for part in scope {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(part.utf8), using: key))
        }
        return HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
            .map { S3Service.hexadecimal($0) }.joined()
    }

    private static func field(_ name: String, of request: RecordedRequest) -> String {
        HTTPField.Name(name).flatMap { request.headerFields[$0] } ?? ""
    }
}
