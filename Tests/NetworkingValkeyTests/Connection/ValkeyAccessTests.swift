#if Valkey
import Foundation
import NetworkingValkey
import NIOSSL
import Synchronization
import TestSupport
import Testing

extension Requirement {
    /// A server of Valkey or Redis that was built with TLS.
    fileprivate static let valkeyTLS = Requirement(.valkeyTLS) {
        guard ValkeyServer.program != nil else { return false }
        return
            (try? await withValkeyServer(Servers.ValkeyAccessTests.tlsArguments(port: ValkeyServer.freePort())) { _ in })
            != nil
    }
}

extension Servers {
    /// How the client reaches a server: users, TLS, sockets, and servers without RESP3.
    @Suite(.tags(.concurrency), .timeLimit(.minutes(20))) struct ValkeyAccessTests {
        @Test(.requires(.valkey)) func userAndPasswordAreSent() async throws {
            try await withValkeyServer { server in
                try server.command("ACL", "SETUSER", "app", "on", ">correct horse", "~app:*", "+get", "+set", "+hello")
                try server.command("CONFIG", "SET", "requirepass", "battery staple")
                var configuration = ValkeyConfiguration.patient
                configuration.password = "battery staple"
                try await withClient(server.address, configuration) { client async throws in
                    try await client.set("any", to: [1], ValkeySetOptions())
                }
                (configuration.user, configuration.password) = ("app", "correct horse")
                try await withClient(server.address, configuration) { client async throws in
                    #expect(try await client.set("app:key", to: [1], ValkeySetOptions()))
                    let error = await #expect(throws: ValkeyError.self) { try await client.get("any") }
                    #expect(error?.kind == .accessDenied && error?.code == "NOPERM")
                }
            }
        }

        @Test(.requires(.valkey), arguments: [("app", "wrong secret"), (nil, "wrong secret"), (nil, nil)])
        func wrongCredentialsAreDeniedAndNotShown(user: String?, password: String?) async throws {
            try await withValkeyServer { server in
                try server.command("CONFIG", "SET", "requirepass", "battery staple")
                var configuration = ValkeyConfiguration.patient
                (configuration.user, configuration.password) = (user, password)
                try await withClient(server.address, configuration) { client async throws in
                    let error = try #require(await #expect(throws: ValkeyError.self) { try await client.get("key") })
                    #expect(error.kind == .accessDenied)
                    var texts = ["\(error)", String(reflecting: error), error.message ?? "", "\(configuration)"]
                    texts.append(String(reflecting: configuration))
                    var dumped = ""
                    dump(configuration, to: &dumped)
                    dump(client, to: &dumped)
                    #expect(!(texts + [dumped]).contains { $0.contains("secret") })
                }
            }
        }

        /// The text of an error may quote the words of the command.
        @Test func refusedGreetingDoesNotQuoteThePassword() async throws {
            var configuration = ValkeyConfiguration.patient
            configuration.password = "secret"
            try await FakeServer.run { call in
                .bytes("-ERR unknown command, with args beginning with: \(call.words.joined(separator: " "))\r\n")
            } _: { server in
                try await withClient(server.address, configuration) { client async throws in
                    let error = try #require(await #expect(throws: ValkeyError.self) { try await client.get("key") })
                    #expect(!"\(error) \(error.message ?? "")".contains("secret"))
                }
            }
        }

        @Test func serverWithoutRESP3IsGreetedAgain() async throws {
            var configuration = ValkeyConfiguration.patient
            (configuration.user, configuration.password) = ("app", "secret")
            try await FakeServer.run { call in
                switch call.words[0] {
                case "HELLO": .bytes("-ERR unknown command 'HELLO'\r\n")
                case "AUTH": .bytes("+OK\r\n")
                default: .bytes("$-1\r\n")
                }
            } _: { server in
                try await withClient(server.address, configuration) { client async throws in
                    #expect(try await client.get("key") == nil)
                    #expect(server.commands.dropFirst() == [["AUTH", "app", "secret"], ["GET", "key"]])
                    #expect(try await failure { _ = try await client.messages(on: "channel") } == .unsupported)
                }
            }
        }

        @Test(.requires(.valkey)) func unixSocketNeedsNoPort() async throws {
            try await withValkeyServer { server in
                try await withClient(.unixSocket(server.socket)) { client async throws in
                    try await client.set("key", to: [1], ValkeySetOptions())
                    #expect(try server.command("GET", "key") == "$1\r\n\u{1}\r\n")
                }
                try await withClient(.unixSocket(server.socket + "x")) { client async throws in
                    #expect(try await failure { _ = try await client.get("key") } == .unreachable)
                }
            }
        }

        // MARK: TLS

        fileprivate static func tlsArguments(port: Int) -> [String] {
            let folder = Repository.root.appending(path: "Tests/Certificates").path
            return [
                "--tls-port", "\(port)", "--tls-auth-clients", "no", "--tls-cert-file", "\(folder)/trusted.pem",
                "--tls-key-file", "\(folder)/trusted.key", "--tls-ca-cert-file", "\(folder)/authority.pem",
            ]
        }

        @Test(.requires(.valkeyTLS), arguments: ["127.0.0.1", "localhost"])
        func certificateOfTheServerIsChecked(host: String) async throws {
            let port = try ValkeyServer.freePort()
            let authority = Repository.root.appending(path: "Tests/Certificates/authority.pem").path
            var configuration = ValkeyConfiguration.patient
            configuration.tls = .makeClientConfiguration()
            configuration.tls?.trustRoots = .file(authority)
            try await withValkeyServer(Self.tlsArguments(port: port)) { server in
                try await withClient(.host(host, port: port), configuration) { client async throws in
                    let large = [UInt8](repeating: 7, count: 300_000)
                    try await client.set("key", to: large, ValkeySetOptions())
                    #expect(try await client.get("key") == large)
                }
                configuration.tls?.trustRoots = .default
                try await withClient(.host(host, port: port), configuration) { client async throws in
                    #expect(try await failure { _ = try await client.get("key") } == .accessDenied)
                }
                // TLS to the port without it, which may wait for more.
                configuration.connectTimeout = .seconds(1)
                try await withClient(server.address, configuration) { client async throws in
                    #expect(try await failure { _ = try await client.get("key") } != nil)
                }
            }
        }

        // MARK: Subscriptions

        @Test(.requires(.valkey)) func messagesOfAChannelArrive() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let first = try await client.messages(on: "channel")
                    let second = try await client.messages(on: "channel")
                    let other = try await client.messages(on: "other")
                    #expect(try server.command("PUBLISH", "channel", "hello") == ":1\r\n")
                    #expect(try server.command("PUBLISH", "other", "there") == ":1\r\n")
                    // Commands and messages share the connection.
                    try await client.set("key", to: [1], ValkeySetOptions())
                    for (messages, text) in [(first, "hello"), (second, "hello"), (other, "there")] {
                        var iterator = messages.makeAsyncIterator()
                        #expect(try await iterator.next() == bytes(text))
                    }
                    #expect(try await client.get("key") == [1])
                }
            }
        }

        @Test(.requires(.valkey)) func readerThatStopsEndsItsSubscription() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    var first: AsyncThrowingStream<[UInt8], any Error>? = try await client.messages(on: "channel")
                    let second = try await client.messages(on: "channel")
                    _ = first
                    first = nil
                    #expect(try server.command("PUBSUB", "NUMSUB", "channel").hasSuffix(":1\r\n"))
                    let reader = Task { for try await _ in second {} }
                    reader.cancel()
                    try await reader.value
                    try await eventually("the last reader ends it") {
                        try server.command("PUBSUB", "NUMSUB", "channel").hasSuffix(":0\r\n")
                    }
                    #expect(try await client.get("key") == nil)
                }
            }
        }

        @Test(.requires(.valkey)) func lostConnectionEndsSubscriptionsWithAnError() async throws {
            try await withValkeyServer { server in
                try await withClient(server.address) { client async throws in
                    let messages = try await client.messages(on: "channel")
                    server.kill()
                    #expect(try await failure { for try await _ in messages {} } == .connectionLost)
                    try await server.start()
                    var again: AsyncThrowingStream<[UInt8], any Error>?
                    try await eventually("another subscription starts") {
                        again = try? await client.messages(on: "channel")
                        return again != nil
                    }
                    try server.command("PUBLISH", "channel", "hello")
                    var iterator = try #require(again).makeAsyncIterator()
                    #expect(try await iterator.next() == bytes("hello"))
                }
            }
        }

        @Test func readerThatIsTooFarBehindIsTold() async throws {
            let flood = String(repeating: ">3\r\n+message\r\n+c\r\n+x\r\n", count: 1_025)
            try await FakeServer.run { call in
                switch call.words[0] {
                case "SUBSCRIBE": .bytes(">3\r\n+subscribe\r\n+c\r\n:1\r\n" + flood)
                case "UNSUBSCRIBE": .bytes(">3\r\n+unsubscribe\r\n+c\r\n:0\r\n")
                default: FakeServer.greeting(call) ?? .bytes("_\r\n")
                }
            } _: { server in
                try await withClient(server.address) { client async throws in
                    let messages = try await client.messages(on: "c")
                    try await eventually("the subscription has ended") {
                        server.commands.contains(["UNSUBSCRIBE", "c"])
                    }
                    var count = 0
                    let kind = try await failure { for try await _ in messages { count += 1 } }
                    #expect(kind == .queueFull && count == 1_024)
                    #expect(try await client.get("key") == nil)
                }
            }
        }

        @Test(.requires(.valkey)) func deniedSubscriptionIsAnErrorAndLeavesTheOrder() async throws {
            try await withValkeyServer { server in
                try server.command("ACL", "SETUSER", "app", "on", ">secret", "~*", "resetchannels", "+@all")
                var configuration = ValkeyConfiguration.patient
                (configuration.user, configuration.password) = ("app", "secret")
                try await withClient(server.address, configuration) { client async throws in
                    #expect(try await failure { _ = try await client.messages(on: "channel") } == .accessDenied)
                    try await client.set("key", to: [1], ValkeySetOptions())
                    #expect(try await client.get("key") == [1])
                }
            }
        }
    }
}
#endif
