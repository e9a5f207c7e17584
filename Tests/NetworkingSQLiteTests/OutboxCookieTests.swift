import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

/// An outbox over a stack with cookies, on each kind of store on disk.
@Suite(.tags(.concurrency), .serialized, .timeLimit(.minutes(20)))
struct OutboxCookieTests {
    private func order(_ number: Int, authority: String = "localhost") -> HTTPRequestData {
        HTTPRequestData(
            method: .post,
            scheme: "http",
            authority: authority,
            path: "/orders/\(number)",
            body: .data(Data([1]))
        )
    }

    private func cookie(_ value: String, expires: Date? = nil) -> Cookie {
        Cookie(name: "session", value: value, domain: "localhost", expires: expires, created: .now)
    }

    /// A server that sets another session cookie in each response.
    private func rotating(_ age: String = "") -> MockTransport {
        MockTransport { request in
            MockResponse(status: .ok, headerFields: [.setCookie: "session=\(request.id); Path=/\(age)"])
        }
    }

    private func paths(_ transport: MockTransport) -> [String?] {
        transport.requests.map(\.path)
    }

    @Test(arguments: OutboxStoreKind.onDisk, [false, true])
    func entriesAreSentAlthoughEachResponseSetsACookie(_ kind: OutboxStoreKind, hasCookie: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let jar = CookieJar()
            if hasCookie {
                try jar.set(cookie("0"))
            }
            let transport = rotating()
            let outbox = Outbox(in: kind.store(in: directory), over: transport.cookies(in: jar))
            for number in 1...3 {
                try await outbox.enqueue(order(number))
            }
            #expect(try await outbox.flush() == 0)
            #expect(paths(transport) == ["/orders/1", "/orders/2", "/orders/3"])
            #expect((transport.requests.first?.headerFields[.cookie] != nil) == hasCookie)
            #expect(transport.requests.dropFirst().allSatisfy { $0.headerFields[.cookie] != nil })
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk)
    func entryIsSentAfterItsCookieHasExpired(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let jar = CookieJar()
            try jar.set(cookie("1"))
            let transport = MockTransport { _ in .ok() }
            let outbox = Outbox(in: kind.store(in: directory), over: transport.cookies(in: jar))
            try await outbox.enqueue(order(1))
            try jar.set(cookie("", expires: .distantPast))
            #expect(jar.count == 0)
            #expect(try await outbox.flush() == 0)
        }
    }

    /// A failing request holds back the next one, whatever cookies the two were added with.
    @Test(arguments: OutboxStoreKind.onDisk)
    func changedCookieKeepsTheOrder(_ kind: OutboxStoreKind) async throws {
        try await withTemporaryDirectory { directory in
            let jar = CookieJar()
            let transport = MockTransport { _ in
                MockResponse(status: .serviceUnavailable, headerFields: [.setCookie: "session=1; Path=/"])
            }
            let outbox = Outbox(in: kind.store(in: directory), over: transport.cookies(in: jar))
            try await outbox.enqueue(order(1))
            try jar.set(cookie("2"))
            try await outbox.enqueue(order(2))
            #expect(try await outbox.flush() == 2)
            #expect(paths(transport) == ["/orders/1"])
        }
    }

    /// A process with an outbox.
    private struct Launch {
        let outbox: Outbox
        let network: AnyNetworkingComponent
        let jar: CookieJar

        init(_ kind: OutboxStoreKind, in directory: URL, over transport: MockTransport, as user: String?) async throws {
            jar = try await CookieJar(in: FileCookieStorage(file: directory.appending(path: "cookies")))
            let signedIn = user.map { user in
                let session = Session(userID: user, accessToken: "token-1")
                return AnyNetworkingComponent(transport.authenticated(with: session, at: ["localhost"]))
            }
            network = AnyNetworkingComponent((signedIn ?? AnyNetworkingComponent(transport)).cookies(in: jar))
            outbox = Outbox(in: kind.store(in: directory.appending(path: "box")), over: network)
        }
    }

    /// The cookies of the new process are those of the file, or those of the next login if they had no expiry date.
    @Test(arguments: OutboxStoreKind.onDisk, ["", "; Max-Age=600"])
    func entryIsSentAfterARestart(_ kind: OutboxStoreKind, age: String) async throws {
        for user in [nil, "emily"] {
            try await withTemporaryDirectory { directory in
                let first = try await Launch(kind, in: directory, over: rotating(age), as: user)
                try await first.network.data(order(0))
                try await first.outbox.enqueue(order(1))
                try await first.jar.flush()

                let transport = rotating(age)
                let second = try await Launch(kind, in: directory, over: transport, as: user)
                #expect((second.jar.count > 0) == !age.isEmpty)
                try await second.network.data(order(0))
                #expect(try await second.outbox.flush() == 0)
                #expect(paths(transport) == ["/orders/0", "/orders/1"])
                #expect(transport.requests.last?.headerFields[.cookie] != nil)
            }
        }
    }

    @Test(arguments: OutboxStoreKind.onDisk, [true, false])
    func entryWaitsDuringTheSessionOfAnotherUser(_ kind: OutboxStoreKind, isExpired: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending(path: "cookies")
            let jar = try await CookieJar(in: FileCookieStorage(file: file))
            let transport = MockTransport { _ in .ok() }
            let store = kind.store(in: directory.appending(path: "box"))
            let outbox = Outbox(in: store, over: transport.cookies(in: jar))
            try jar.set(cookie("emily"))
            let id = try await outbox.enqueue(order(1))
            if isExpired {
                // The server has ended the session before the app removes the cookies.
                try jar.set(cookie("", expires: .distantPast))
            }
            jar.removeAll(of: nil)
            try jar.set(cookie("james", expires: .now.addingTimeInterval(600)))
            try await outbox.enqueue(order(2))
            #expect(try await outbox.flush() == 1)
            #expect(paths(transport) == ["/orders/2"])

            // The same holds in the next process.
            try await jar.flush()
            let next = try await CookieJar(in: FileCookieStorage(file: file))
            let later = Outbox(in: store, over: transport.cookies(in: next))
            #expect(try await later.flush() == 1)
            #expect(try await later.entries().map(\.id) == [id])
            #expect(paths(transport) == ["/orders/2"])
        }
    }
}
