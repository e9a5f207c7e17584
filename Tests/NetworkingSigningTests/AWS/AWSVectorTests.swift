#if Crypto
import Crypto
import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingSigning

@Suite
struct AWSVectorTests {
    @Test(arguments: AWSVector.all.filter { $0.inexpressible == nil })
    func matchesTheSignaturesOfTheSuite(_ vector: AWSVector) async throws {
        let signer = vector.signer
        try await atTheSuitesTime {
            var request = vector.request
            try await signer.sign(&request)
            #expect(request.headerFields[.authorization]?.hasSuffix("Signature=\(vector.header)") == true)
            guard let presigned = vector.presigned else { return }
            let link = try await signer.presigned(vector.request, lifetime: .seconds(3_600))
            #expect(link.query["X-Amz-Signature"] == presigned)
        }
    }

    @Test(arguments: AWSVector.all)
    func matchesTheCanonicalFormOfTheSuite(_ vector: AWSVector) {
        let date = Date(timeIntervalSince1970: 1_440_938_160)
        let scope = AWSScope(date: date, region: "us-east-1", service: "service")
        var fields: [String: [String]] = ["host": [AWSVector.host]]
        for (name, value) in vector.fields {
            fields[name.lowercased(), default: []].append(value)
        }
        fields["x-amz-content-sha256"] = vector.sentPayload.map { [$0] }
        var signed = fields
        signed["x-amz-date"] = ["20150830T123600Z"]
        signed["x-amz-security-token"] = vector.token.map { [$0] } ?? fields["x-amz-security-token"]
        let request = vector.canonical(fields: signed, query: vector.query)
        #expect(scope.signature(of: request, with: vector.credentials) == vector.header)

        var items = [
            vector.query, "X-Amz-Algorithm=AWS4-HMAC-SHA256", "X-Amz-Date=20150830T123600Z", "X-Amz-Expires=3600",
            "X-Amz-Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request",
            "X-Amz-SignedHeaders=\(fields.keys.sorted().joined(separator: ";"))",
        ]
        if let token = vector.token {
            items.append("X-Amz-Security-Token=\(token)")
        }
        let presigned = vector.canonical(fields: fields, query: items.joined(separator: "&"))
        #expect(vector.presigned.map { $0 == scope.signature(of: presigned, with: vector.credentials) } ?? true)
    }

    /// The suite has 39 cases; a former version had four more.
    @Test func runsEveryCase() {
        #expect(Set(AWSVector.all.map(\.name)).count == 43)
    }

    private func atTheSuitesTime(_ work: () async throws -> Void) async rethrows {
        var environment = NetworkEnvironment()
        environment.clock = .manual(ManualClock(start: Date(timeIntervalSince1970: 1_440_938_160)))
        try await withEnvironment(environment, work)
    }
}

extension AWSVector {
    fileprivate var credentials: AWSCredentials {
        AWSCredentials(
            accessKeyID: Self.accessKeyID,
            secretAccessKey: Self.secretAccessKey,
            sessionToken: token
        )
    }

    fileprivate var signer: AWSSigner {
        let options = AWSSigner.Options(normalizesPath: isNormalized, encodesPathTwice: false)
        return AWSSigner(credentials, region: "us-east-1", service: "service", options: options)
    }

    fileprivate var request: HTTPRequestData {
        var headerFields = HeaderFields()
        for (name, value) in fields {
            headerFields.append(name: HTTPField.Name(name)!, value: value)
        }
        return HTTPRequestData(
            method: HTTPRequest.Method(rawValue: method)!,
            scheme: "https",
            authority: Self.host,
            path: query.isEmpty ? path : "\(path)?\(query)",
            headerFields: headerFields,
            body: body.isEmpty ? nil : .data(Data(body.utf8))
        )
    }

    fileprivate func canonical(fields: [String: [String]], query: String) -> AWSCanonicalRequest {
        AWSCanonicalRequest(
            method: method,
            path: AWSCanonicalRequest.path(path, isNormalized: isNormalized, isEncodedTwice: false),
            query: AWSCanonicalRequest.query(query),
            fields: fields.mapValues(AWSCanonicalRequest.joined),
            payload: sentPayload ?? SHA256.hash(data: Data(body.utf8)).hexadecimal
        )
    }
}
#endif
