import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// Sessions decoded from login responses and from storage.
@Suite(.timeLimit(.minutes(20)))
struct SessionCodingTests {
    private let clock = ManualClock(start: Date(timeIntervalSince1970: 1_700_000_000))
    /// A token with an `exp` one hour after the start of the clock.
    private let token = "e30.\(Data(#"{"sub":"7","exp":1700003600}"#.utf8).base64EncodedString()).c2ln"
        .replacingOccurrences(of: "=", with: "")

    private func decoded(_ json: String, by decoder: JSONDecoder = JSONDecoder()) async throws -> Session {
        var environment = NetworkEnvironment()
        environment.clock = .manual(clock)
        return try await withEnvironment(environment) { try decoder.decode(Session.self, from: Data(json.utf8)) }
    }

    // MARK: Logins

    /// The response of https://dummyjson.com/auth/login.
    @Test func loginWithAJSONWebTokenExpiresWithTheToken() async throws {
        let response = """
            {"id": 1, "username": "emilys", "email": "emily.johnson@x.dummyjson.com", "firstName": "Emily", "lastName": "Johnson",
             "gender": "female", "image": "https://dummyjson.com/icon/emilys/128", "accessToken": "\(token)", "refreshToken": "r"}
            """
        let transport = MockTransport { request in
            request.path == "/auth/login" ? .json(text: response) : .ok()
        }
        let refreshes = ScriptedAuthenticationDelegate<Session>(refreshing: [.success(Session(accessToken: "new"))])
        let store = TokenStore<Session>(delegate: refreshes)
        let network = transport.authenticated(with: store).server(authority: "dummyjson.com")
            .environment(\.clock, .manual(clock))
        let login = HTTPRequestData(method: .post, path: "auth/login").with { $0.authenticationMethod = .anonymous }
        let session = try await network.request(login, as: Session.self)
        #expect(session.userID == "1")
        #expect(session.accessToken == token)
        #expect(session.refreshToken == "r")
        #expect(session.expirationDate == Date(timeIntervalSince1970: 1_700_003_600))
        store.set(session)
        clock.advance(by: .seconds(3_569))
        _ = try await network.data(HTTPRequestData(path: "me"))
        #expect(refreshes.refreshes == 0)
        clock.advance(by: .seconds(1))
        _ = try await network.data(HTTPRequestData(path: "me"))
        #expect(refreshes.refreshes == 1)
    }

    /// RFC 6749, section 5.1.
    @Test(arguments: ["3600", "3600.0", #""3600""#])
    func loginWithALifetimeExpiresThatLongAfterNow(lifetime: String) async throws {
        clock.advance(by: .seconds(10))
        let session = try await decoded(
            #"{"access_token":"a","token_type":"Bearer","expires_in":\#(lifetime),"refresh_token":"r","scope":"b c","id_token":"i"}"#
        )
        #expect(
            session
                == Session(
                    accessToken: "a",
                    refreshToken: "r",
                    expirationDate: Date(timeIntervalSince1970: 1_700_003_610),
                    scope: "b c",
                    idToken: "i"
                )
        )
    }

    /// The lifetime is relative, so it is correct even if the clock of the device or of the server is wrong.
    @Test func lifetimeTakesPrecedenceOverTheToken() async throws {
        let session = try await decoded(#"{"accessToken":"\#(token)","expiresIn":60}"#)
        #expect(session.expirationDate == Date(timeIntervalSince1970: 1_700_000_060))
    }

    @Test(arguments: ["-1", "1e300", "null", "true", #""soon""#, "[]"])
    func invalidLifetimeIsIgnored(lifetime: String) async throws {
        let session = try await decoded(#"{"access_token":"\#(token)","expires_in":\#(lifetime)}"#)
        #expect(session.expirationDate == Date(timeIntervalSince1970: 1_700_003_600))
    }

    @Test func responsesInSnakeCaseAreDecodedWithAConvertingDecoder() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let session = try await decoded(
            #"{"access_token":"a","expires_in":60,"refresh_token":"r","user_id":7,"id_token":"i"}"#,
            by: decoder
        )
        #expect(session.userID == "7")
        #expect(session.refreshToken == "r")
        #expect(session.idToken == "i")
        #expect(session.expirationDate == Date(timeIntervalSince1970: 1_700_000_060))
    }

    @Test(arguments: [
        (#""userID":"emily""#, "emily"), (#""userID":7"#, "7"), (#""userId":7"#, "7"), (#""user_id":"7""#, "7"),
        (#""id":"7""#, "7"), (#""id":18446744073709551615"#, "18446744073709551615"), (#""id":-7"#, "-7"),
        (#""user_id":7,"id":"of the session""#, "7"), (#""id":{"$oid":"7"}"#, nil), (#""id":null"#, nil),
        (#""id":1.5"#, nil),
    ])
    func userIDIsAStringOrANumber(field: String, id: String?) async throws {
        #expect(try await decoded(#"{\#(field),"accessToken":"a"}"#).userID == id)
    }

    @Test(arguments: ["{}", "[]", #"{"accessToken":7}"#, #"{"token":"a"}"#, #"{"accessToken":"a","userID":[]}"#])
    func responseWithoutASessionIsAnError(json: String) async {
        await #expect(throws: DecodingError.self) { try await decoded(json) }
    }

    @Test(arguments: ["300", "[300]", "[1, 2, 3]", #""300""#, "null", "{}"])
    func refreshWindowOfAnotherFormatIsIgnored(window: String) async throws {
        #expect(try await decoded(#"{"accessToken":"a","refreshWindow":\#(window)}"#) == Session(accessToken: "a"))
    }

    /// The parts do not add up to a Duration that has parts.
    @Test(arguments: [
        "[9223372036854775807, 9223372036854775807]", "[-9223372036854775808, -9223372036854775808]",
        "[0, 1000000000000000000]",
    ])
    func refreshWindowThatCannotBeEncodedIsIgnored(window: String) async throws {
        let session = try await decoded(#"{"accessToken":"a","refreshWindow":\#(window)}"#)
        #expect(session.refreshWindow == nil)
        #expect(try !JSONEncoder().encode(session).isEmpty)
    }

    @Test(arguments: [
        (#"["chat:read"]"#, "chat:read"), (#"["a", "b"]"#, "a b"), (#""a b""#, "a b"), ("null", nil), ("[]", ""),
        ("7", nil), (#"{"a":1}"#, nil), (#"["a",1]"#, nil),
    ])
    func scopeIsAStringOrAList(scope: String, expected: String?) async throws {
        #expect(try await decoded(#"{"accessToken":"a","scope":\#(scope)}"#).scope == expected)
    }

    // MARK: Storage

    @Test func encodedSessionsDecodeToEqualOnes() throws {
        var undated = Session(userID: "emily", accessToken: token, refreshToken: "r")
        undated.expirationDate = nil
        let sessions = [
            Session(accessToken: ""), Session(userID: "", accessToken: "a"), Session(accessToken: token), undated,
            Session(
                userID: "7",
                accessToken: "a",
                refreshToken: "r",
                expirationDate: Date(timeIntervalSince1970: 1_700_000_000.25),
                scope: "b c",
                idToken: "i",
                refreshWindow: .seconds(300)
            ),
            Session(accessToken: "a", refreshWindow: Duration.seconds(1) / 3),
            Session(accessToken: "a", refreshWindow: .zero),
            Session(accessToken: "a", refreshWindow: .seconds(Int64.max)),
        ]
        for session in sessions {
            #expect(try JSONDecoder().decode(Session.self, from: JSONEncoder().encode(session)) == session)
            let list = try PropertyListEncoder().encode(session)
            #expect(try PropertyListDecoder().decode(Session.self, from: list) == session)
        }
        #expect(try JSONDecoder().decode([Session].self, from: JSONEncoder().encode(sessions)) == sessions)
    }

    /// The format of the synthesized conformance.
    @Test func sessionsOfEarlierVersionsAreDecoded() async throws {
        #expect(
            try await decoded(
                #"{"accessToken":"a","expirationDate":721692800,"idToken":"i","refreshToken":"r","scope":"b c","userID":"7"}"#
            )
                == Session(
                    userID: "7",
                    accessToken: "a",
                    refreshToken: "r",
                    expirationDate: Date(timeIntervalSince1970: 1_700_000_000),
                    scope: "b c",
                    idToken: "i"
                )
        )
        #expect(try await decoded(#"{"accessToken":"a"}"#) == Session(accessToken: "a"))
        // The token of this session was not parsed at its login.
        #expect(
            try await decoded(#"{"accessToken":"\#(token)","userID":"7"}"#) == Session(userID: "7", accessToken: token)
        )
    }
}
