// Modules, values and types that the snippets of the guides use and do not declare. A snippet may declare the same
// names again. Add a name only if showing it would distract the reader of the page.

import Crypto
import Foundation
import InMemoryTracing
import Logging
import MetricsTestKit
import NIOCore
import NetworkClient
import NetworkClientLive
import Networking
import NetworkingInspector
import NetworkingOAuth
import NetworkingSQLite
import NetworkingSigning
import NetworkingTelemetry
import NetworkingTestServer
import NetworkingTesting
import NetworkingValkey
import Synchronization
import Testing
import XCTest

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

let network: any NetworkingComponent = LoopbackSession.shared.server(authority: "api.example.com")
let request = HTTPRequestData(path: "users/42")
let url = FileManager.default.temporaryDirectory.appending(path: "file")
let elsewhere = FileManager.default.temporaryDirectory.appending(path: "elsewhere")
let file = FileManager.default.temporaryDirectory.appending(path: "responses.sqlite")
let folder = FileManager.default.temporaryDirectory.appending(path: "sessions")
let downloads = FileManager.default.temporaryDirectory.appending(path: "downloads")
let token = "token-1"

// The user interface of an app

@MainActor
final class ProgressBar {
    var fraction = 0.0
}

@MainActor
final class Label {
    var text = ""
}

@MainActor let bar = ProgressBar()
@MainActor let label = Label()

// Authentication, Modifiers, NetworkClient

let session = Session(accessToken: "token-1", refreshToken: "token-2")
let tokens = TokenStore(session, delegate: Renewal())
let form = ["user": "emily", "password": "password-1"]

struct Renewal: AuthenticationDelegate {
    func refresh(
        _ session: Session,
        after response: HTTPResponseData?,
        over network: any NetworkingComponent
    ) async throws -> Session {
        session
    }
}

// Bodies

struct Photo: Codable {
    let url: URL
}

let place = ["name": "Den Haag"]

// Inspector

let inspector = NetworkInspector()

// Modifiers

func fetchKey() async throws -> String {
    "key-1"
}

// OAuth

struct Order: Codable {
    let id: Int
}

extension Request where Response == [Order] {
    static var orders: Self { Request(HTTPRequestData(path: "orders")) }
}

struct Browser: OAuthUserAgent {
    func authorize(_ authorization: OAuthAuthorization) async throws -> OAuthCallback {
        OAuthCallback(authorization.url, to: authorization)
    }
}

let browser = Browser()
let client = OAuthClient(.provider(issuer: "https://login.example.com", clientID: "shop", redirectURI: url))

// Offline

let outbox = Outbox(in: MemoryOutboxStore(), over: network)

// Signing

struct RoleCredentials: Decodable {
    let accessKeyId: String
    let secretAccessKey: String
    let token: String
    let expiration: Date
}

struct Replayed: Error {}

let password = "password-1"
let keyID = "key-1"
let secret = "secret-1"
let sharedKey = Data("secret-1".utf8)
let privateKey = P256.Signing.PrivateKey()
let serverKey = P256.Signing.PrivateKey().publicKey
let credentials = AWSCredentials(accessKeyID: keyID, secretAccessKey: secret)
let signer = AWSSigner(credentials, region: "eu-central-1", service: "s3")
let metadata = network
let securityCredentials = request
let response = HTTPResponseData(request: request)
@MainActor var nonces: Set<String> = []

// Telemetry

let incoming = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/orders")

// Testing

func draw(_ svg: String, as name: String) throws {}

// Transports

typealias MyTransport = URLSessionTransport

// Stand-ins for a client of swift-openapi-generator and for one of connect-swift

struct Client: Sendable {
    init(serverURL: URL, transport: any Sendable, middlewares: [any Sendable] = []) {}

    func getUser(id: Int) async throws -> User {
        User(id: id, name: "")
    }
}

enum Servers {
    enum Server1 {
        static func url() throws -> URL {
            URL(filePath: "/")
        }
    }
}

struct StackTransport {
    init(over network: some NetworkingComponent) {}
}

struct StackMiddleware: Sendable {
    init(_ modify: (any NetworkingComponent) -> any NetworkingComponent) {}
}

struct VendorTransport: Sendable {}

struct ProtocolClientConfig {
    init(host: String) {}
}

struct ProtocolClient {
    init(httpClient: StackHTTPClient, config: ProtocolClientConfig) {}
}

struct StackHTTPClient {
    init(over network: some NetworkingComponent) {}
}
