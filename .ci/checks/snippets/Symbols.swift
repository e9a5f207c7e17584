// Values and types that the examples in documentation comments use and do not declare, in addition to Preamble.swift. An
// example may declare the same names again.
//
// Both files become one module. In it, `request` is a variable, because many examples show only an assignment.

import AsyncHTTPClient
import Crypto
import Foundation
import HTTPTypes
import Logging
import NIOSSL
import NetworkClient
import Networking
import NetworkingAsyncHTTPClient
import NetworkingInspector
import NetworkingOAuth
import NetworkingSQLite
import NetworkingSigning
import NetworkingTestServer
import NetworkingTesting
import NetworkingValkey
import Synchronization

// Requests and values

let id = 42
let first = HTTPRequestData(path: "one")
let second = HTTPRequestData(path: "two")
let requestID = "42"
let name = "emily"
let text = "swift"
let user = User(id: 42, name: "Emily")
let emily = user
let users = ["42": user]
let files = [URL(filePath: "/tmp/film.mov")]
let template = request
let login = request
let order = Order(id: 7)
let message = ["text": "Hello World"]
let baseURL = URL(string: "https://api.example.com")!
let production = baseURL
let staging = URL(string: "https://staging.example.com")!
let lastDate = Date(timeIntervalSince1970: 1_700_000_000)
let data = Data("hello".utf8)
let png = Data()
let photo = URL(filePath: "/tmp/photo.jpg")
let photos = request
let album = request
let films = request
let film = URL(filePath: "/tmp/film.mov")
let report = URL(filePath: "/tmp/report.pdf")
let fixtures = URL(filePath: "/tmp/fixtures")
let isVerbose = true
let prompt = request
let error = NetworkingError(.connectionLost, request: request)
let translations: [String: String] = [:]

struct Problem: Error, Decodable {
    let code: Int
    let message: String
}

struct ShopError: Error {
    static let noSuchProduct = ShopError(code: 1, status: 404)
    let code: Int
    let status: Int
}

struct PartnerIsDown: Error {}
struct Refused: Error {}

struct UserDTO: Decodable {
    let id: Int
    let name: String
}

extension User {
    init(_ stored: UserDTO) throws {
        self.init(id: stored.id, name: stored.name)
    }
}

struct Draft: Codable {
    let text: String
}

struct Token: Decodable {
    let text: String
}

struct Reading: Decodable {
    let value: Double
}

extension Request where Response == User {
    static func user(id: Int) -> Self {
        .get("users/\(id)")
    }
}

extension Request where Response == [User] {
    static var users: Self {
        .get("users")
    }
}

extension HTTPRequestData {
    static func completion(of prompt: HTTPRequestData) -> HTTPRequestData {
        prompt
    }
}

extension HTTPField.Name {
    static let requestID = HTTPField.Name("X-Request-ID")!
    static let version = HTTPField.Name("X-Version")!
    static let xSignature = HTTPField.Name("X-Signature")!
    static let xHubSignature256 = HTTPField.Name("X-Hub-Signature-256")!
    static let xTimestamp = HTTPField.Name("X-Timestamp")!
}

struct TokenResponse: Decodable {
    let accessToken: String
    let refreshToken: String
}

struct GetUser: Endpoint {
    typealias Response = User
    let id: Int

    var path: RequestPath { "users/\(id)" }
}

enum GitHub: Endpoint {
    typealias Response = HTTPResponseData
    case user(String)

    var path: RequestPath {
        switch self {
        case .user(let name): "users/\(name)"
        }
    }
}

// Pages

struct Issue: Codable {
    let title: String
}

struct IssuePage: Codable {
    let items: [Issue]
    let nextCursor: String?
    let next: String?
    let isLast: Bool
}

extension Request where Response == IssuePage {
    static func issues() -> Self {
        .get("issues")
    }
}

// The user interface of an app

@MainActor
final class Button {
    var action: () async -> Void = {}
}

@MainActor let stopButton = Button()
@MainActor let pauseButton = Button()
@MainActor let resumeButton = Button()

@MainActor
final class Chart {
    func add(_ reading: Reading) {}
}

@MainActor let chart = Chart()

@MainActor
final class Player {
    func play(_ chunk: Data) {}
}

@MainActor let player = Player()

@MainActor func show(_ values: Any...) {}
@MainActor func show(_ data: Data, isStored: Bool) {}
@MainActor func showOfflineBanner() {}
@MainActor func showSignIn() {}
@MainActor func showEmptyPage() {}
@MainActor func showUpdateRequired() {}

// The other parts of an app

let images = DispatchQueue(label: "images")
let logs = DispatchQueue(label: "logs")
let model = DispatchQueue(label: "model")
let uploads = DispatchQueue(label: "uploads")

struct Application: Sendable {
    func run() async throws {}
}

let app = Application()

struct UserAPI: Sendable {
    private let network: any NetworkingComponent

    init(_ client: NetworkClient = .current) {
        network = client.network().server(authority: "api.example.com")
    }

    init(network: any NetworkingComponent) {
        self.network = network
    }

    func user(id: Int) async throws -> User {
        try await network.value(.user(id: id)).body
    }
}

let database = Database()

struct Database: Sendable {
    func export() -> AsyncStream<Data> {
        AsyncStream { $0.finish() }
    }

    func tryAdvisoryLock(named name: String) async throws -> AdvisoryLock? {
        AdvisoryLock()
    }
}

struct AdvisoryLock: Sendable {
    func release() {}
}

struct DatabaseSessionStorage: SessionStorage {
    func session(for userID: String) throws -> Session? {
        nil
    }

    func save(_ session: Session) throws {}
    func removeSession(for userID: String) throws {}

    func userIDs() throws -> [String] {
        []
    }
}

final class Counter: Sendable {
    func increase() {}
    func add(_ number: Int) {}
}

let count = Counter()

let recorder = Recorder()

struct Recorder: Sendable {
    func samples() async throws -> AsyncStream<Data> {
        AsyncStream { $0.finish() }
    }
}

final class Vault: Sendable {
    static let shared = Vault()

    func read(_ name: String) async throws -> Data? {
        nil
    }

    func write(_ data: Data, as name: String) async throws {}
}

func save(_ data: Data) throws {}

// Modifiers and transports

struct RequestID: NetworkingModifier {}

struct Tenancy: NetworkingModifier {}

struct Mirrored: NetworkingModifier {}

struct Diagnostics: RequestInterceptor {}

let interceptors: [any RequestInterceptor] = [Diagnostics()]

struct Tokens: Sendable {
    func current() async throws -> String {
        token
    }

    func refresh() async throws {}
}

struct Loopback: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }
}

struct Stamped: NetworkingModifier {}

struct SocketTransport: NetworkingTransport {
    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }
}

struct Connection: Sendable {
    func cancel() {}
    func close() {}
}

let connection = Connection()
let socket = Connection()

struct Dialog: Sendable {
    func isConfirmed() async -> Bool {
        true
    }
}

let dialog = Dialog()
let upstream = network
let counted = request
let countingSink = CollectingSink()

// State that several machines share

let valkey = ValkeyClient(.host("127.0.0.1"))
let store: any RateLimitStore = ValkeyRateLimit(valkey, namespace: "shop")
let demand = RateLimitDemand(key: "payments", permits: 1, interval: .milliseconds(10), burst: 10, lead: .zero)
let stored: RateLimitState? = nil
let now = Duration.zero

struct OtherClient: Sendable {
    func send(_ words: [[UInt8]]) async throws -> [UInt8] {
        []
    }
}

func value(of reply: [UInt8]) -> ValkeyValue {
    .bytes(reply)
}

// Credentials and trust

struct Login: AuthenticationDelegate {
    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        session
    }
}

let account = Account()

struct Account: Sendable {
    func idToken() async throws -> String {
        token
    }
}

let ticket = Ticket(number: "1")

struct Ticket {
    let number: String

    func signature(of text: String) -> String {
        text
    }
}

let provider = Provider()

struct Provider: Sendable {
    func signIn(at page: URL) async throws -> URL {
        page
    }
}

let callback = url
let clientID = "shop"
let system = OAuthSystem.provider(issuer: "https://login.example.com", clientID: clientID, redirectURI: callback)
let access = "token-1"
let refresh = "token-2"
let expiry = Date(timeIntervalSince1970: 1_830_000_000)
let renewed = session
let key = SymmetricKey(data: Data("key-1".utf8))
let apiKey = "key-1"
let storage = FileSessionStorage(directory: folder)
let currentKey: CertificatePin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
let backupKey: CertificatePin = "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="
let tls = TLSConfiguration.makeClientConfiguration()

// Tests

let server: TestServer = unavailable()

/// Returns a value for a type that has no simple initializer, because examples are compiled and never run.
func unavailable<Value>() -> Value {
    fatalError()
}

func check(_ url: URL) async throws {}

let transport = MockTransport()
let gate = MockGate()
let clock = ManualClock()
let connectionLost = NetworkingError(.connectionLost, request: request)
let verifier = MessageVerifier(serverKey, keyID: "server-1", requiring: [.status, .contentDigest])
let basket = Mutex(Basket())

struct Basket: Codable {
    mutating func add(_ request: HTTPRequestData) -> Basket {
        self
    }
}
