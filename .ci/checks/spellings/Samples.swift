// The names that the spellings of Samples.md in Tests use. `samples` prints the spellings.

import Foundation
import HTTPTypes
import Logging
import NetworkClient
import Networking
import NetworkingOAuth
import NetworkingTesting

// Models

struct User: Codable, Sendable {
    var id = 42
    var name = "Emily"

    init() {}

    init(_ transport: UserDTO) throws {}

    func avatarURL() throws -> URL { sampleURL }
}

struct UserDTO: Codable, Sendable {}
struct CreateUser: Codable, Sendable {
    var name: String
    var age: Int
}
struct Item: Codable, Sendable {}
struct Photo: Codable, Sendable {}
struct Problem: Codable, Error {}
struct Profile: Codable, Sendable {}
struct Reading: Codable, Sendable {}
struct Token: Codable, Sendable {}
struct Missing: Error {}
struct NoToken: Error {}

extension Request where Response == User {
    static var me: Self { .get("me") }
    static func user(id: Int) -> Self { .get("users/\(id)") }
    static func user(_ name: String) -> Self { .get("users/\(name)") }
}

struct GetUser: Endpoint {
    typealias Response = User
    let id: Int

    var path: RequestPath { "users/\(id)" }
}

enum GitHub: Endpoint {
    typealias Response = HTTPResponseData
    case user(String)

    var path: RequestPath { "users" }
}

// Parts of a stack

struct RequestID: NetworkingModifier {}
struct Verbose: NetworkingModifier {}
struct AuthInterceptor: RequestInterceptor {}
struct Renewing: RequestInterceptor {}
struct NeverAgain: RetryStrategy {
    func decide(about request: HTTPRequestData, after attempts: [Attempt]) async throws -> RetryDecision { .giveUp }
}
struct Renewal: AuthenticationDelegate {
    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        session
    }
}
struct Console: LogDestination {
    let logLevel = Logger.Level.info

    func write(_ record: LogRecord) {}
}
enum X: ResponseMetadata {
    static let defaultValue = 0
}
extension RequestOptionKey {
    static let x = RequestOption("x", default: 0, affects: .nothing)
}
struct Browser: OAuthUserAgent {
    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        OAuthCallback(authorization.url, to: authorization)
    }
}
struct XMLBodyDecoder: BodyDecoder {
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value { throw Missing() }
}
struct IPInfo {
    func fetch() async throws {}
}
struct Account {
    func logIn(username: String, password: String) async throws {}
}
struct Tokens {
    func current() async throws -> String { "token-1" }
}

func alert(_ text: String) {}

// Values

let sampleURL = URL(filePath: "/tmp/sample")
let url = sampleURL
let file = sampleURL
let (access, refresh, token, password, email, name, userID) = ("1", "2", "3", "4", "a@example.com", "Emily", "emily")
let (address, cursor): (String?, String?) = (nil, nil)
let (bytes, data, image, date) = (Data(), Data(), Data(), Date())
let (user, value, form, dictionary) = (User(), User(), ["user": "emily"], ["X-Id": "7"])
let isVerbose = true
let login = HTTPRequestData.post("login")
let parts = [MultipartPart.text("profile", name: "type")]
let body = RequestBody.data(Data())
let network: any NetworkingComponent = URLSession.shared.server(authority: "api.example.com")
let transport = MockTransport()
let response = HTTPResponseData(request: login)
let error = NetworkingError(.offline, request: login)
let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
let system = OAuthSystem.provider(issuer: "https://login.example.com", clientID: "shop", redirectURI: url)
let client = OAuthClient(system)
let agent = Browser()
let provider = Tokens()
let clocks = EnvironmentRecorder<NetworkClock>()
let tokens = TokenStore(Session(accessToken: "1"), delegate: Renewal())
let delegate = Renewal()
let storage = InMemorySessionStorage()
let cache = ResponseCache()
let strategy = NeverAgain()
let interceptor = AuthInterceptor()
let clock = ManualClock()
let recorder = RequestRecorder()
let tracker = ProgressTracker()
let group = TransferGroup()
let instrument = SessionInstrument()
let (ipInfo, account, spotify) = (IPInfo(), Account(), network)

@MainActor var request = HTTPRequestData.get("users")
@MainActor var headers = HeaderFields()
@MainActor var policy = RetryPolicy.never
@MainActor var session = Session(accessToken: "1")

// Values that only a call returns. Nothing here runs.

var attempt: Attempt { fatalError() }
var progress: TransferProgress { fatalError() }
var result: Result<User, any Error> { fatalError() }
var call: PreparedCall<HTTPResponseData> { fatalError() }
var transfer: Transfer<DownloadedFile> { fatalError() }
var upload: Transfer<HTTPResponseData> { fatalError() }
