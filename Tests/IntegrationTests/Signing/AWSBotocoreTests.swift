#if Crypto && (os(Linux) || os(macOS))
import Foundation
import HTTPTypes
import Networking
import NetworkingSigning
import NetworkingTesting
import TestSupport
import Testing

extension Loopback {
    /// Signatures compared with those of botocore, the AWS client for Python.
    struct AWSBotocoreTests {
        @Test(.requires(.botocore))
        func signaturesMatchBotocore() async throws {
            let samples = (0..<400).map { Sample(number: UInt64($0)) }
            let output = try await Python.run(program, on: JSONEncoder().encode(samples))
            let expected = try JSONDecoder().decode([String].self, from: output)
            var environment = NetworkEnvironment()
            environment.clock = .manual(ManualClock(start: Date(timeIntervalSince1970: Sample.time)))
            try await withEnvironment(environment) {
                for (sample, signature) in zip(samples, expected) {
                    let own = try await sample.signature()
                    #expect(own == signature, "\(sample)")
                }
            }
            #expect(expected.count == samples.count)
        }

        private let program = """
            import datetime, json, sys
            from botocore import auth
            from botocore.awsrequest import AWSRequest
            from botocore.credentials import Credentials

            samples = json.load(sys.stdin)
            auth.get_current_datetime = lambda *a, **k: datetime.datetime.fromtimestamp(
                samples[0]['date'], datetime.timezone.utc)
            signatures = []
            for sample in samples:
                credentials = Credentials('AKIDEXAMPLE', 'secret/key+1', sample.get('token'))
                request = AWSRequest(sample['method'], sample['url'], dict(sample['fields']), sample.get('body') or '')
                isS3 = sample['service'] == 's3'
                if sample['isPresigned']:
                    signer = auth.S3SigV4QueryAuth if isS3 else auth.SigV4QueryAuth
                    signer(credentials, sample['service'], 'eu-west-1', 600).add_auth(request)
                    signatures.append(request.url.split('X-Amz-Signature=')[1])
                else:
                    signer = auth.S3SigV4Auth if isS3 else auth.SigV4Auth
                    signer(credentials, sample['service'], 'eu-west-1').add_auth(request)
                    signatures.append(request.headers['Authorization'].split('Signature=')[1])
            json.dump(signatures, sys.stdout)
            """
    }
}

/// A pseudo-random request, determined by its number.
private struct Sample: Encodable {
    static let time = 1_440_938_160.0

    let date = Self.time
    var method: String
    var url: String
    var fields: [String: String] = [:]
    var body: String?
    var token: String?
    var service: String
    var isPresigned: Bool

    init(number: UInt64) {
        var random = Numbers(state: number)
        isPresigned = Bool.random(using: &random)
        service = Bool.random(using: &random) ? "s3" : "sns"
        method = ["GET", "PUT", "DELETE", "PATCH"].randomElement(using: &random)!
        let port = ["", ":443", ":8443"].randomElement(using: &random)!
        url = "https://api-1.example.com\(port)"
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let odd = [".", "..", "", nil, nil, nil, nil].randomElement(using: &random)!
            // Botocore never percent-encodes a slash for S3, so it does not show that S3 decodes one.
            let text = Self.text(using: &random).filter { $0 != "/" || service != "s3" }
            url += "/" + (odd ?? text.encoded)
        }
        let items = (0..<Int.random(in: 0...4, using: &random)).map { "n\($0)" + Self.text(using: &random).encoded }
        if !items.isEmpty {
            // Botocore keeps one item of each name, and none without a value, in a presigned URL.
            url += "?" + items.map { "\($0)=\(Self.text(using: &random).encoded)" }.joined(separator: "&")
            url += isPresigned ? "" : "&\(items[0])=&last"
        }
        for name in ["Accept", "X-Amz-Meta-A", "X-Mine", "Content-Type", "User-Agent", "Range"].shuffled(using: &random)
            .prefix(Int.random(in: 0...5, using: &random))
        {
            fields[name] = "a\(Self.blanks(using: &random))\(UInt8.random(in: 0...9, using: &random)),b"
        }
        if !isPresigned, method != "GET" {
            body = Self.text(using: &random)
        }
        if Bool.random(using: &random) {
            token = "token/" + Self.text(using: &random).encoded
        }
    }

    func signature() async throws -> String? {
        let credentials = AWSCredentials(
            accessKeyID: "AKIDEXAMPLE",
            secretAccessKey: "secret/key+1",
            sessionToken: token
        )
        let signer = AWSSigner(credentials, region: "eu-west-1", service: service)
        var request = HTTPRequestData(
            method: try #require(HTTPRequest.Method(rawValue: method)),
            url: try #require(URL(string: url, encodingInvalidCharacters: false)),
            body: body.map { .data(Data($0.utf8)) }
        )
        for (name, value) in fields {
            request.headerFields[try #require(HTTPField.Name(name))] = value
        }
        if isPresigned {
            return try await signer.presigned(request, lifetime: .seconds(600)).query["X-Amz-Signature"]
        }
        try await signer.sign(&request)
        return request.headerFields[.authorization]?.split(separator: "Signature=").last.map { String($0) }
    }

    private static func text(using random: inout Numbers) -> String {
        let characters = Array("abcXYZ019-._~ /+&=?%#:;,@!$'()*<>\"|ü漢😀")
        let count = Int.random(in: 0...6, using: &random)
        return String((0..<count).map { _ in characters.randomElement(using: &random)! })
    }

    private static func blanks(using random: inout Numbers) -> String {
        String(repeating: " ", count: Int.random(in: 0...3, using: &random))
    }
}

extension String {
    /// The text with all but the unreserved characters percent-encoded, as AWS clients write URLs.
    fileprivate var encoded: String {
        addingPercentEncoding(
            withAllowedCharacters: CharacterSet(
                charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
            )
        ) ?? ""
    }
}

/// A deterministic sequence of pseudo-random numbers.
private struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = state
        number = (number ^ number >> 30) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 31
    }
}
#endif
