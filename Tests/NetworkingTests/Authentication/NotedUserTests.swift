import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingTransfers

/// The user that a request notes when its work begins, for parts of the library and of other packages.
@Suite(.timeLimit(.minutes(20)))
struct NotedUserTests {
    private final class Store: Sendable {}

    private let store = Store()
    private let alice = Principal(id: "alice")
    private let bob = Principal(id: "bob")
    private let request = HTTPRequestData(authority: "api.example.com", path: "/orders")

    @Test func requestIsCheckedForTheUserThatItNotes() throws {
        var request = request
        #expect(request.notedUser(of: store) == nil)
        request.noteUser(alice, of: store)
        // Only the first note counts.
        request.noteUser(bob, of: store)
        #expect(request.notedUser(of: store) == alice)
        try request.checkUser(alice, of: store)
        let error = #expect(throws: NetworkingError.self) { try request.checkUser(bob, of: store) }
        #expect(error?.isOfAnotherUser == true)
        #expect(error?.kind == .unauthorized)
        #expect(error?.isTransient == false)
    }

    @Test func requestWithoutANoteBelongsToNoUser() throws {
        try request.checkUser(alice, of: store)
        try request.checkUser(bob, of: store)
    }

    @Test func storesAreSeparate() throws {
        let stores = (0..<3).map { _ in Store() }
        var request = request
        for (number, store) in stores.enumerated() {
            request.noteUser(Principal(id: "\(number)"), of: store)
        }
        for (number, store) in stores.enumerated() {
            try request.checkUser(Principal(id: "\(number)"), of: store)
            #expect(throws: NetworkingError.self) { try request.checkUser(Principal(id: "\(number + 1)"), of: store) }
        }
    }

    @Test func sameSignInIsTheSameUser() throws {
        var request = request
        request.noteUser(alice, signIn: 1, of: store)
        try request.checkUser(bob, signIn: 1, of: store)
        try request.checkUser(alice, signIn: 2, of: store)
        #expect(throws: NetworkingError.self) { try request.checkUser(bob, signIn: 2, of: store) }
        #expect(throws: NetworkingError.self) { try request.checkUser(bob, of: store) }
    }

    @Test func requestWithoutAUserBelongsToTheFirst() throws {
        var request = request
        request.noteUser(nil, of: store)
        #expect(request.notedUser(of: store) == nil)
        let copy = request
        try request.checkUser(alice, of: store)
        #expect(copy.notedUser(of: store) == alice)
        #expect(throws: NetworkingError.self) { try copy.checkUser(bob, of: store) }
    }

    @Test func requestWithoutAUserBelongsToTheFirstThatIsReturned() throws {
        #expect(request.user(of: store, signedIn: alice) == alice)
        var request = request
        request.noteUser(nil, of: store)
        #expect(request.user(of: store, signedIn: nil) == nil)
        let copy = request
        #expect(request.user(of: store, signedIn: alice, signIn: 1) == alice)
        #expect(copy.user(of: store, signedIn: bob, signIn: 2) == alice)
        #expect(copy.user(of: store, signedIn: nil) == alice)
        try copy.checkUser(alice, of: store)
        try copy.checkUser(bob, signIn: 1, of: store)
        #expect(throws: NetworkingError.self) { try copy.checkUser(bob, signIn: 2, of: store) }
    }

    @Test func userOfARequestIsTheOneThatItNotes() {
        var request = request
        request.noteUser(alice, of: store)
        #expect(request.user(of: store, signedIn: bob) == alice)
        #expect(request.user(of: store, signedIn: nil) == alice)
    }

    @Test func errorAndResponseKeepNoUser() async throws {
        let tickets = Tickets()
        let network = MockTransport { _ in .ok() }.modified(Ticketed(tickets: tickets))
        let kept = network.notingUsers(of: request)
        #expect(network.notingUsers(of: kept).notedUser(of: tickets) == Principal(id: "user 1"))
        let response = try await network.data(kept)
        #expect(response.request.notedUser(of: tickets) == nil)
        #expect(response.sentRequest.notedUser(of: tickets) == nil)
        tickets.signInAnother()
        // The app sends the request again, for the user who is signed in now.
        #expect(try await network.data(response.request).status == .ok)
        let error = await #expect(throws: NetworkingError.self) { try await network.data(kept) }
        #expect(error?.request.notedUser(of: tickets) == nil)
    }

    // MARK: A part of another package

    /// Credentials of another package.
    private final class Tickets: Sendable {
        private let number = Mutex(1)

        var user: Principal {
            Principal(id: "user \(number.withLock { $0 })")
        }

        func signInAnother() {
            number.withLock { $0 += 1 }
        }
    }

    private struct Ticketed: NetworkingModifier {
        let tickets: Tickets

        func resolve(_ request: inout HTTPRequestData) {
            request.noteUser(tickets.user, of: tickets)
        }

        func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
            request.user(of: tickets, signedIn: tickets.user)
        }

        func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
            let user = tickets.user
            try request.checkUser(user, of: tickets)
            var request = request
            request.setCredential(user.id, for: .authorization)
            return try await upstream.send(request)
        }
    }

    @Test func partOfAnotherPackageRefusesAnotherUser() async throws {
        let tickets = Tickets()
        let transport = MockTransport { _ in .ok() }
        let network = transport.modified(Ticketed(tickets: tickets))
            .modified(
                Sending { request, upstream in
                    tickets.signInAnother()
                    return try await upstream.send(request)
                }
            )
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.isEmpty)
    }

    /// The cache of a stack must not return the response of a later user either.
    @Test(arguments: ["cached", "deduplicated"])
    func sharedResponseIsThatOfTheUserForWhomTheCallBegan(part: String) async throws {
        let store = TokenStore(Networking.Session(userID: "bob", accessToken: "bob"))
        let transport = MockTransport { request in
            .text(request.headerFields[.authorization] ?? "").headerFields([.cacheControl: "max-age=60"])
        }
        let authenticated = transport.authenticated(with: store, at: ["api.example.com"])
        let shared =
            part == "cached"
            ? AnyNetworkingComponent(authenticated.cached())
            : AnyNetworkingComponent(authenticated.deduplicated())
        _ = try await shared.data(request)
        store.set(Networking.Session(userID: "alice", accessToken: "alice"))
        let network = shared.modified(
            Sending { request, upstream in
                store.set(Networking.Session(userID: "bob", accessToken: "bob"))
                return try await upstream.send(request)
            }
        )
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.isOfAnotherUser == true)
    }

    // MARK: Token stores

    @Test func refreshThatReturnsAnotherUserIsASignIn() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refreshing: [
            .success(Networking.Session(userID: "bob", accessToken: "bob"))
        ])
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"), delegate: delegate)
        let transport = MockTransport { _ in .status(.unauthorized) }
        let network = transport.authenticated(with: store, at: ["api.example.com"])
        #expect(try await network.data(request).status == .unauthorized)
        #expect(store.principal == bob)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer alice"])
    }

    @Test func refreshThatLearnsTheUserIsForTheSameUser() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refreshing: [
            .success(Networking.Session(userID: "alice", accessToken: "new"))
        ])
        let store = TokenStore(Networking.Session(accessToken: "old"), delegate: delegate)
        let transport = MockTransport { request in
            request.headerFields[.authorization] == "Bearer new" ? .ok() : .status(.unauthorized)
        }
        let network = transport.authenticated(with: store, at: ["api.example.com"])
        #expect(try await network.data(request).status == .ok)
        #expect(store.principal == alice)
    }

    @Test func signedOutUserIsNotAskedToSignInForAnEarlierRequest() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(authorizing: [
            .success(Networking.Session(userID: "alice", accessToken: "new"))
        ])
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "old"), delegate: delegate)
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: store, at: ["api.example.com"])
            .modified(
                Sending { request, upstream in
                    if store.credentials?.accessToken == "old" { store.remove() }
                    return try await upstream.send(request)
                }
            )
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.kind == .unauthorized)
        #expect(delegate.calls.isEmpty)
        // The next call asks for a sign-in.
        #expect(try await network.data(request).status == .ok)
    }

    /// The session of the next user has expired, too.
    @Test func nothingIsRefreshedForTheNextUser() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refreshing: [
            .success(Networking.Session(userID: "bob", accessToken: "fresh"))
        ])
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"), delegate: delegate)
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: store, at: ["api.example.com"])
            .modified(
                Sending { request, upstream in
                    let expired = Networking.Session(userID: "bob", accessToken: "old", expirationDate: .distantPast)
                    store.set(expired)
                    return try await upstream.send(request)
                }
            )
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.isEmpty)
        #expect(delegate.calls.isEmpty)
    }

    /// A signer has no part that notes the user before it waits for the store.
    @Test func credentialsThatAreAwaitedAreThoseOfTheUserWhoWaits() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(refreshing: [
            .success(Networking.Session(userID: "bob", accessToken: "bob"))
        ])
        let expired = Networking.Session(userID: "alice", accessToken: "old", expirationDate: .distantPast)
        let store = TokenStore(expired, delegate: delegate)
        let error = await #expect(throws: NetworkingError.self) {
            try await store.grant(for: request, over: MockTransport { _ in .ok() })
        }
        #expect(error?.isOfAnotherUser == true)
        #expect(delegate.calls.count == 1)
    }

    @Test func firstUserOfWorkThatBeganSignedOutIsItsUser() async throws {
        let delegate = ScriptedAuthenticationDelegate<Networking.Session>(authorizing: [
            .success(Networking.Session(userID: "alice", accessToken: "alice"))
        ])
        let store = TokenStore<Networking.Session>(delegate: delegate)
        let transport = MockTransport { _ in
            store.set(Networking.Session(userID: "bob", accessToken: "bob"))
            return .status(.serviceUnavailable)
        }
        let network = transport.authenticated(with: store, at: ["api.example.com"]).retry(.immediate())
        let response = try await network.data(request)
        #expect(response.retryRefusal == .anotherUser)
        #expect(transport.requests.map { $0.headerFields[.authorization] } == ["Bearer alice"])
    }

    // MARK: Cookies

    /// The call begins while nobody is signed in.
    @Test func cookiesAndCredentialsAreThoseOfOneUser() async throws {
        let jar = CookieJar()
        let store = TokenStore<Networking.Session>()
        let users = ["alice", "bob"].map { Networking.Session(userID: $0, accessToken: $0) }
        let transport = MockTransport { request in
            let user = request.headerFields[.authorization]?.dropFirst("Bearer ".count) ?? ""
            return .ok().headerFields([.setCookie: "session=\(user)"])
        }
        let authenticated = transport.authenticated(with: store, at: ["api.example.com"])
        for user in users {
            store.set(user)
            try await authenticated.cookies(in: jar).data(request)
        }
        store.remove()
        let network =
            authenticated.modified(
                Sending { request, upstream in
                    store.set(users[1])
                    return try await upstream.send(request)
                }
            )
            .cookies(in: jar)
            .modified(
                Sending { request, upstream in
                    store.set(users[0])
                    return try await upstream.send(request)
                }
            )
        let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.count == 2)
    }

    /// A part of another package adds credentials after the cookies were chosen, and does not name their user.
    @Test func cookiesOfAResponseBelongToTheUserOfItsCredentials() async throws {
        struct Unnamed: NetworkingModifier {
            let tickets: Tickets

            func resolve(_ request: inout HTTPRequestData) {
                request.noteUser(nil, of: tickets)
            }

            func principal(for request: HTTPRequestData, upstream: some NetworkingComponent) -> Principal? {
                request.user(of: tickets, signedIn: nil)
            }

            func send(
                _ request: HTTPRequestData,
                upstream: some NetworkingComponent
            ) async throws -> HTTPResponseData {
                try request.checkUser(tickets.user, of: tickets)
                var request = request
                request.setCredential(tickets.user.id, for: .authorization)
                return try await upstream.send(request)
            }
        }

        let (jar, tickets) = (CookieJar(), Tickets())
        let transport = MockTransport { _ in .ok().headerFields([.setCookie: "session=1"]) }
        try await transport.modified(Unnamed(tickets: tickets)).cookies(in: jar).data(request)
        #expect(jar.cookies(of: nil).isEmpty)
        #expect(jar.cookies(of: tickets.user).count == 1)
    }

    /// Without preemptive credentials, the cookies of a user are sent before the credentials are.
    @Test func responseBeforeAChallengeBelongsToTheUser() async throws {
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let responses = Locked<[MockResponse]>([.ok(), .status(.serviceUnavailable), .ok()])
        let transport = MockTransport { _ in
            responses.withLock { $0.removeFirst() }.headerFields([.setCookie: "session=1"])
        }
        let network = transport.authenticated(with: store, at: ["api.example.com"], preemptive: false)
            .cookies(in: CookieJar()).retry(.immediate())
        for _ in 1...2 {
            let response = try await network.data(request)
            #expect(response.status == .ok)
            #expect(response.retryRefusal == nil)
        }
        #expect(transport.requests.map { $0.headerFields[.cookie] } == [nil, "session=1", "session=1"])
    }

    // MARK: Uploads and the outbox

    @Test func uploadIsForTheUserForWhomItBegan() async throws {
        let store = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let transport = MockTransport { _ in .ok() }
        let network = transport.authenticated(with: store, at: ["api.example.com"])
        var request = request
        request.method = .put
        let upload = ResumingUpload(.data(Data("photo".utf8)), to: request, .never, UploadOptions(), over: network)
        store.set(Networking.Session(userID: "bob", accessToken: "bob"))
        let error = await #expect(throws: NetworkingError.self) { try await upload.run() }
        #expect(error?.isOfAnotherUser == true)
        #expect(transport.requests.isEmpty)
    }

    /// A stack has rewritten the request before, so it notes no user.
    @Test func outboxEntryIsForTheUserWhoQueuedIt() async throws {
        struct SigningInStore: OutboxStore {
            let store = MemoryOutboxStore()
            let tokens: TokenStore<Networking.Session>

            func ids() async throws -> [OutboxEntry.ID] {
                tokens.set(Networking.Session(userID: "bob", accessToken: "bob"))
                return store.ids()
            }

            func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry? { store.entry(id) }
            func add(_ entry: OutboxEntry) async throws { try store.add(entry) }
            func remove(_ id: OutboxEntry.ID) async throws -> Bool { store.remove(id) }
            func claim() async throws -> Bool { store.claim() }
            func release() async { store.release() }

            func update(_ progress: OutboxEntry.Progress, of id: OutboxEntry.ID) async throws {
                store.update(progress, of: id)
            }
        }

        let tokens = TokenStore(Networking.Session(userID: "alice", accessToken: "alice"))
        let network = MockTransport { _ in .ok() }.authenticated(with: tokens, at: ["api.example.com"])
        let store = SigningInStore(tokens: tokens)
        let outbox = Outbox(in: store, over: network)
        let sent = try await MockTransport { _ in .ok() }.data(request).sentRequest
        let id = try await outbox.enqueue(sent)
        #expect(store.store.entry(id)?.principal == alice)
    }

    // MARK: Removed cookies

    @Test(arguments: ["removeAll()", "removeAll(of:)", "removeAll(at:)"], [false, true])
    func requestThatWaitsIsNotSentWithTheCookiesOfTheNextUser(removal: String, signsIn: Bool) async throws {
        let jar = CookieJar()
        try jar.set(Cookie(name: "session", value: "alice", domain: "api.example.com", created: .distantPast))
        let transport = MockTransport { _ in .ok() }
        let network = transport.cookies(in: jar)
            .modified(
                Sending { request, upstream in
                    switch removal {
                    case "removeAll()": jar.removeAll()
                    case "removeAll(of:)": jar.removeAll(of: nil)
                    default: jar.removeAll(at: "api.example.com")
                    }
                    if signsIn {
                        let cookie = Cookie(
                            name: "session",
                            value: "bob",
                            domain: "api.example.com",
                            created: .distantPast
                        )
                        try jar.set(cookie)
                    }
                    return try await upstream.send(request)
                }
            )
        if signsIn {
            let error = await #expect(throws: NetworkingError.self) { try await network.data(request) }
            #expect(error?.isOfAnotherUser == true)
            #expect(transport.requests.isEmpty)
        } else {
            try await network.data(request)
            #expect(transport.requests.map { $0.headerFields[.cookie] } == [nil])
        }
    }

    @Test func removalForAnotherHostOrUserDoesNotConcernARequest() async throws {
        let jar = CookieJar()
        try jar.set(Cookie(name: "session", value: "alice", domain: "api.example.com", created: .distantPast))
        let transport = MockTransport { _ in .ok() }
        let network = transport.cookies(in: jar)
            .modified(
                Sending { request, upstream in
                    jar.removeAll(at: "other.example")
                    jar.removeAll(of: Principal(id: "bob"))
                    return try await upstream.send(request)
                }
            )
        try await network.data(request)
        #expect(transport.requests.map { $0.headerFields[.cookie] } == ["session=alice"])
    }
}
