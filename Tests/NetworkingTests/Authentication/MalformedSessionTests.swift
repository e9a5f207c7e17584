import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// Login responses with values that no server should send.
///
/// Each decodes to a usable session or fails with an error.
@Suite(.tags(.memory), .timeLimit(.minutes(20)))
struct MalformedSessionTests {
    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_700_000_000))

    private func login(_ json: String) async throws -> Session {
        let transport = MockTransport { _ in .json(text: json) }
        let request = HTTPRequestData(authority: "example.com", path: "login")
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        return try await withEnvironment(environment) { try await transport.request(request, as: Session.self) }
    }

    /// Creates a token with a payload, or with text in place of its base64.
    private static func token(_ payload: String) -> String {
        "e30.\(Base64URL.encode(payload.utf8)).c2ln"
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    // MARK: Errors

    @Test(arguments: [
        ("", "it is empty (status 200)"),
        ("null", "at the top level, found null."),
        ("true", "at the top level, found a Boolean."),
        (#""token""#, "at the top level, found a string."),
        ("{", "it is JSON that ends early"),
        (#"{"accessToken":"a""#, "it is JSON that ends early"),
        (#"{"accessToken":null}"#, "expected a value at accessToken, found null."),
        (#"{"accessToken":{"token":"a"}}"#, "expected String at accessToken, found an object."),
        (#"{"accessToken":["a"]}"#, "expected String at accessToken, found an array."),
        (#"{"accessToken":true}"#, "expected String at accessToken, found a Boolean."),
        (#"{"data":{"accessToken":"a"}}"#, #"the key "accessToken" is missing in the object at the top level."#),
        (#"[{"accessToken":"a"}]"#, "at the top level, found an array."),
        (#"{"accessToken":"a","refresh_token":7}"#, "expected String at refresh_token, found a number."),
        (#"{"accessToken":"a","refreshToken":{}}"#, "expected String at refreshToken, found an object."),
        (#"{"accessToken":"a","id_token":false}"#, "expected String at id_token, found a Boolean."),
        (#"{"accessToken":"a","userID":{}}"#, "expected String at userID, found an object."),
        (#"{"accessToken":"a","expirationDate":"tomorrow"}"#, "at expirationDate, found a string."),
        (#"{"accessToken":\#(nested(100_000))}"#, "is not valid for its type"),
        (#"{"accessToken":"\ud800"}"#, "is not valid for its type"),
    ])
    func responseThatIsNoSessionIsADecodingError(json: String, fault: String) async throws {
        let error = await #expect(throws: NetworkingError.self) { try await login(json) }
        #expect(error?.kind == .decoding)
        #expect(error?.reason.contains(fault) == true, "\(error?.reason ?? "")")
    }

    // MARK: Lifetimes

    @Test(
        arguments: [
            ("0", 0), ("-0.0", 0), ("1e-300", 0), ("9999999999", 9_999_999_999), (#""0060""#, 60), (#""6e1""#, 60),
            ("-1", nil), ("1e10", nil), ("1e308", nil), ("1e400", nil), ("-1e400", nil), ("18446744073709551616", nil),
            (#""nan""#, nil), (#""inf""#, nil), (#""-infinity""#, nil), (#""""#, nil), (#""60 s""#, nil),
            (#"" 60""#, nil),
            (#""\#(String(repeating: "9", count: 100_000))""#, nil), ("null", nil), ("{}", nil), (nested(400), nil),
        ] as [(String, TimeInterval?)]
    )
    func lifetimeIsReadOrIgnored(lifetime: String, seconds: TimeInterval?) async throws {
        for key in ["expires_in", "expiresIn"] {
            let session = try await login(#"{"access_token":"a","\#(key)":\#(lifetime)}"#)
            #expect(session.expirationDate == seconds.map { clock.date.addingTimeInterval($0) })
        }
    }

    @Test(arguments: ["-1e300", "1e300", "-63113904000", "1e308", "0"])
    func dateFarAwayCanBeStoredAndCompared(date: String) async throws {
        let session = try await login(#"{"accessToken":"a","expirationDate":\#(date)}"#)
        let seconds = try #require(Double(date))
        #expect(session.expirationDate?.timeIntervalSinceReferenceDate == seconds)
        #expect(session.isExpired == (seconds < clock.date.timeIntervalSinceReferenceDate))
        #expect(try JSONDecoder().decode(Session.self, from: JSONEncoder().encode(session)) == session)
        #expect(!"\(session)".isEmpty)
    }

    // MARK: JSON Web Tokens

    @Test(
        arguments: [
            (token(#"{"exp":1700003600}"#), 1_700_003_600), (token(#"{"exp":1700003600.5}"#), 1_700_003_600.5),
            (token(#"{"exp":-1}"#), -1), (token(#"{"exp":0}"#), 0), (token(#"{"exp":99999999999}"#), 99_999_999_999),
            (token(#"{"exp":"1700003600"}"#), nil), (token(#"{"exp":1e11}"#), nil), (token(#"{"exp":1e308}"#), nil),
            (token(#"{"exp":-1e308}"#), nil), (token(#"{"exp":1e400}"#), nil), (token(#"{"exp":null}"#), nil),
            (token(#"{"exp":[1700003600]}"#), nil), (token(#"{"exp":true}"#), nil), (token("{}"), nil),
            (token(""), nil),
            (token("[]"), nil), (token("null"), nil), (token("{"), nil), (token(nested(100_000)), nil),
            ("e30.\(Base64URL.encode([0xFF, 0xFE])).c2ln", nil), ("e30.****.c2ln", nil), ("e30.A.c2ln", nil),
            ("e30.=.c2ln", nil), ("e30.e30=.c2ln", nil), ("e30. .c2ln", nil), ("..", nil), (".", nil), ("", nil),
            ("a.b", nil),
            ("....", nil), ("e30..c2ln", nil), (token(#"{"exp":1700003600}"#) + ".x", nil), ("名.前.。", nil),
            (String(repeating: ".", count: 100_000), nil), (String(repeating: "a", count: 1 << 20), nil),
        ] as [(String, TimeInterval?)]
    )
    func expirationDateOfATokenIsADateOrIgnored(token: String, seconds: TimeInterval?) async throws {
        let session = try await login(#"{"accessToken":"\#(token)"}"#)
        #expect(session.accessToken == token)
        #expect(session.expirationDate == seconds.map { Date(timeIntervalSince1970: $0) })
    }

    // MARK: Other values

    @Test(
        arguments: [
            (#"1e30"#, nil), ("1e400", nil), ("-9223372036854775808", "-9223372036854775808"),
            ("-9223372036854775809", nil),
            ("7.0", "7"), ("true", nil), (#""""#, ""), (nested(400), nil), (#""\u0000""#, "\0"),
        ] as [(String, String?)]
    )
    func userIDIsTextOrIgnored(id: String, text: String?) async throws {
        #expect(try await login(#"{"accessToken":"a","user_id":\#(id)}"#).userID == text)
    }

    @Test func longValuesAreKept() async throws {
        let text = String(repeating: "x", count: 1 << 20)
        let session = try await login(
            #"{"accessToken":"\#(text)","refreshToken":"\#(text)","userID":"\#(text)","scope":"\#(text)","unknown":"\#(text)"}"#
        )
        #expect(session == Session(userID: text, accessToken: text, refreshToken: text, scope: text))
    }

    @Test func tokenWithALineBreakAddsNoHeaderField() async throws {
        let session = try await login(#"{"accessToken":"a\r\nX-Injected: b\r\n\r\nc\u0000"}"#)
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: TokenStore(session)).server(authority: "api.example.com")
        _ = try? await network.data(HTTPRequestData(path: "me"))
        for request in transport.requests {
            let value = request.headerFields[.authorization] ?? ""
            #expect(!value.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 })
        }
    }
}
