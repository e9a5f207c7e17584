import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingCore

/// The reasons of errors for bodies that cannot be decoded.
@Suite(.timeLimit(.minutes(20)))
struct DecodingFaultTests {
    private let request = HTTPRequestData(authority: "example.com", path: "users/42")

    /// Returns the reason without its start, which names the type.
    private func fault<Value: Decodable & Sendable>(
        _ body: String,
        as type: Value.Type,
        contentType: String? = "application/json",
        marking secret: String? = nil,
        decoder: JSONDecoder = JSONDecoder()
    ) async throws -> String {
        var request = request
        if let secret { request.markSecret(secret) }
        let transport = MockTransport { _ in
            MockResponse(
                status: .ok,
                data: Data(body.utf8),
                headerFields: contentType.map { [.contentType: $0] } ?? [:]
            )
        }
        let sent = request
        let error = try #require(
            await #expect(throws: NetworkingError.self) {
                try await transport.request(sent, as: type, decoder: decoder)
            }
        )
        #expect(error.kind == .decoding)
        let start = "The body does not decode to \(type): "
        #expect(error.reason.hasPrefix(start))
        #expect(!error.reason.contains("\n"))
        #expect(error.reason.utf8.count < 1_000)
        return String(error.reason.dropFirst(start.count))
    }

    // MARK: Keys and types

    private struct Profile: Codable, Sendable {
        var userID: Int
        var tags: [String: [Bool]]?
    }

    @Test(arguments: [
        (#"{}"#, #"the key "userID" is missing in the object at the top level. Compare the type"#),
        (
            #"{"user_id": 1}"#,
            #"the key "userID" is missing in the object at the top level, which has "user_id". Declare CodingKeys: "#
                + #"the strategy convertFromSnakeCase reads it as "userId"."#
        ),
        (
            #"{"USERID": 1}"#,
            #"the key "userID" is missing in the object at the top level, which has "USERID". Declare CodingKeys."#
        ),
        (#"{"userID": null}"#, "expected Int at userID, found null."),
        (#"{"userID": {"hunter2": 1}}"#, "expected Int at userID, found an object."),
        (#"{"userID": true}"#, "expected Int at userID, found a Boolean."),
        (#"{"userID": 1, "tags": {"a": [true, "hunter2"]}}"#, "expected Bool at tags.a.[1], found a string."),
        (#"[{"userID": 1}]"#, "expected an object at the top level, found an array."),
        ("null", "expected an object at the top level, found null."),
    ])
    func namesThePathTheExpectedTypeAndTheFoundType(body: String, fault: String) async throws {
        let text = try await self.fault(body, as: Profile.self)
        #expect(text.hasPrefix(fault), "\(text)")
        #expect(!text.contains("hunter2"))
    }

    private struct Author: Codable, Sendable {
        var authorId: Int
    }

    private struct Writer: Codable, Sendable {
        var authorID: Int

        private enum CodingKeys: String, CodingKey {
            case authorID = "author_id"
        }
    }

    @Test func strategyForKeysIsProposedOnlyIfItIsNotSet() async throws {
        let unset = try await fault(#"{"author_id": 1}"#, as: Author.self)
        #expect(unset.hasSuffix(#"has "author_id". Set the decoder's strategy for keys, or declare CodingKeys."#))
        let set = try await fault(#"{"user_id": 1}"#, as: Profile.self, decoder: .json(keys: .convertFromSnakeCase))
        #expect(!set.contains("Set the decoder"), "\(set)")
        let twice = try await fault(#"{"author_id": 1}"#, as: Writer.self, decoder: .json(keys: .convertFromSnakeCase))
        #expect(twice.contains("the decoder's strategy for keys converts it"), "\(twice)")
    }

    /// The hint converts names as Foundation does, so the proposed strategy always works.
    @Test(arguments: [
        "author_id", "_author_id", "author__id_", "AUTHOR_ID", "authorId", "author_Id_x", "_", "__a__b_c", "ä_ö",
    ])
    func proposedStrategyReadsTheName(name: String) async throws {
        struct FirstName: Decodable {
            let name: String?
            init(from decoder: any Decoder) throws {
                name = try decoder.container(keyedBy: Key.self).allKeys.first?.stringValue
            }
        }
        struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        let decoder = JSONDecoder.json(keys: .convertFromSnakeCase)
        let converted = try decoder.decode(FirstName.self, from: Data("{\"\(name)\": 1}".utf8)).name
        #expect(name.convertedFromSnakeCase == converted)
    }

    private struct Pair: Decodable, Sendable {
        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            _ = try (values.decode(Int.self), values.decode(Int.self))
        }
    }

    @Test func namesTheMissingKeyOfAnArrayElement() async throws {
        #expect(try await fault("[1]", as: Pair.self).hasPrefix("expected Int at [1], found nothing."))
        #expect(try await fault("{}", as: Pair.self).hasPrefix("expected an array at the top level, found an object."))
    }

    @Test func findsTheValueUnderAConvertedKey() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        struct Account: Decodable, Sendable {
            struct Info: Decodable, Sendable {
                var firstName: Int
            }

            var userInfo: Info
        }
        let text = try await fault(#"{"user_info": {"first_name": "x"}}"#, as: Account.self, decoder: decoder)
        #expect(text.hasPrefix("expected Int at userInfo.firstName, found a string."))
    }

    @Test func namesFromTheServerAreTruncatedToOneLine() async throws {
        let name = "a\\n\\u001B" + String(repeating: "b", count: 10_000)
        let text = try await fault(#"{"userID": 1, "tags": {"\#(name)": [1]}}"#, as: Profile.self)
        #expect(text.hasPrefix("expected Bool at tags.a\u{FFFD}\u{FFFD}bbb"))
    }

    @Test func markedSecretInANameIsRedacted() async throws {
        let body = #"{"userID": 1, "tags": {"hunter2": [1]}}"#
        let text = try await fault(body, as: Profile.self, marking: "hunter2")
        #expect(text.hasPrefix("expected Bool at tags.<redacted>.[0], found a number."))
    }

    // MARK: Bodies that are not JSON

    @Test(arguments: [
        ("{\"userID\": nope}", "it is not valid JSON from byte 12 of 16 on."),
        ("{\"userID\": 1", "it is JSON that ends early, after 12 bytes."),
        ("[\"hunter2", "it is JSON that ends early, after 9 bytes."),
    ])
    func namesThePositionOfASyntaxError(body: String, fault: String) async throws {
        let text = try await self.fault(body, as: Profile.self)
        #expect(text.hasPrefix(fault), "\(text)")
        #expect(!text.contains("hunter2"))
    }

    @Test func namesTheTypeTheLengthAndTheStartOfAPage() async throws {
        let page = "\n<!DOCTYPE html>\n<html lang=\"en\"><title>Sign in to the proxy</title></html>"
        let text = try await fault(page, as: Profile.self, contentType: "Text/HTML; charset=utf-8")
        #expect(
            text == "it is \(page.utf8.count) bytes of text/html that start with "
                + #""<!DOCTYPE html>\n<html lang="en"><title>". "#
                + "Check the URL, and whether a proxy or a sign-in page sent the response."
        )
    }

    @Test func reportsAMissingContentType() async throws {
        let text = try await fault("Not found", as: Profile.self, contentType: nil)
        #expect(text.hasPrefix(#"it is not JSON but 9 bytes without a Content-Type that start with "Not found"."#))
    }

    @Test func bodyOfAnotherTypeHasNoExcerpt() async throws {
        let text = try await fault("hunter2 hunter2", as: Profile.self, contentType: "image/png")
        #expect(text.hasPrefix("it is 15 bytes of image/png. Check the URL"))
    }

    /// The excerpt of a body that may be, or contain, a secret is left out.
    @Test(arguments: [
        "hunter2", "eyJhbGciOiJIUzI1NiJ9.hunter2.c2ln", "password=hunter2&user=emily", "your token: hunter2",
        "Bearer hunter2hunter2hunter2hunter2", "error {\"password\": \"hunter2\"}", "hunter2\u{0} and more",
    ])
    func excerptThatMayBeSecretIsOmitted(body: String) async throws {
        for type in ["application/json", "text/plain", nil] {
            let text = try await fault(body, as: Profile.self, contentType: type)
            #expect(!text.contains("hunter2"), "\(text)")
            #expect(text.contains("\(body.utf8.count) bytes"), "\(text)")
        }
    }

    @Test func excerptOfABodyWithAMarkedSecretIsOmitted() async throws {
        let body = "Sign in first. " + String(repeating: "x ", count: 1_000) + "hunter2"
        #expect(try await fault(body, as: Profile.self).contains("Sign in first."))
        #expect(try await !fault(body, as: Profile.self, marking: "hunter2").contains("Sign in first."))
    }

    @Test func excerptIsShortAndOnOneLine() async throws {
        let body = "Oh\r\n\u{1B}[2J\u{202E} " + String(repeating: "é ", count: 1_000)
        let text = try await fault(body, as: Profile.self, contentType: "text/plain")
        #expect(text.contains("that start with \"Oh\\n\u{FFFD}[2J\u{FFFD} é é"))
        #expect(text.utf8.count < 250)
    }

    @Test func malformedBodiesAreDescribed() async throws {
        let deep = String(repeating: "[", count: 500_000)
        #expect(try await fault(deep, as: Profile.self).hasPrefix("it is JSON that ends early"))
        let closed = deep + String(repeating: "]", count: 500_000)
        #expect(try await fault(closed, as: Profile.self).contains("at the top level, an array, is not valid"))
        let accent = "a" + String(repeating: "\u{301}", count: 200_000) + " b"
        #expect(try await fault(accent, as: Profile.self, contentType: "text/plain").contains("bytes of text/plain"))
    }
}
