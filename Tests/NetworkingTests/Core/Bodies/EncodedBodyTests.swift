import Foundation
import Networking
import NetworkingTesting
import Testing

/// Bodies of encoders other than the JSON encoder.
@Suite
struct EncodedBodyTests {
    @Test func propertyListIsXMLByDefault() throws {
        let user = ["name": "Emily", "city": "Den Haag"]
        let body = RequestBody.propertyList(user)
        #expect(body.contentType == "application/x-plist")
        let data = try #require(body.data)
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("<?xml"))
        #expect(try PropertyListDecoder().decode([String: String].self, from: data) == user)

        let binary = PropertyListEncoder()
        binary.outputFormat = .binary
        let compact = try #require(RequestBody.propertyList(user, encoder: binary).data)
        #expect(compact.prefix(6) == Data("bplist".utf8))
        #expect(try PropertyListDecoder().decode([String: String].self, from: compact) == user)
    }

    /// An encoder that writes the description of a value.
    private struct Describing: BodyEncoder {
        struct Speechless: Error {}

        func encode<Value: Encodable>(_ value: Value) throws -> Data {
            let text = "\(value)"
            guard !text.isEmpty else { throw Speechless() }
            return Data(text.utf8)
        }
    }

    @Test func customEncoderWritesTheBody() async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData.lawful.with { request in
            request.method = .post
            request.body = .encoded(42, by: Describing(), contentType: "text/x-number")
        }
        try await transport.data(request)
        #expect(transport.requests.first?.body?.data == Data("42".utf8))
        #expect(transport.requests.first?.body?.contentType == "text/x-number")
    }

    @Test func bodyThatAnEncoderRejectsIsNotSent() async throws {
        let transport = MockTransport { _ in .ok() }
        let request = HTTPRequestData.lawful.with { request in
            request.method = .post
            request.body = .encoded("", by: Describing(), contentType: "text/plain")
        }
        let error = await #expect(throws: NetworkingError.self) { try await transport.data(request) }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.underlying is Describing.Speechless)
        #expect(transport.requests.isEmpty)
    }
}
