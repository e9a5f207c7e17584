#if Valkey
import NetworkingCore
import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import NetworkingValkey

@Suite struct ValkeyCommandsTests {
    @Test func scriptHasTheNameThatTheServerGivesIt() async throws {
        #expect(ValkeyScript("return 'foo'").sha1 == "6dcea60f8ec363f0f04e8bc9cbb06f23add0b470")
        #expect(ValkeyScript("return 1") == ValkeyScript("return 1"))
        #expect(ValkeyScript("return 1") != ValkeyScript("return 2"))
    }

    @Test func optionsBecomeWords() {
        #expect(ValkeySetOptions().words.isEmpty)
        #expect(ValkeySetOptions(.ifMissing, expiry: .seconds(5)).words == ["NX", "PX", "5000"])
        #expect(ValkeySetOptions(.ifPresent, expiry: .milliseconds(1)).words == ["XX", "PX", "1"])
    }

    @Test(arguments: [
        (Duration.zero, "1"), (.seconds(-3), "1"), (.microseconds(1), "1"), (.seconds(Int64.max), "3153600000000"),
    ])
    func expiryIsWithinTheRangeOfTheServer(expiry: Duration, milliseconds: String) {
        #expect(ValkeySetOptions(expiry: expiry).words == ["PX", milliseconds])
    }

    @Test func valueHasTheTypeThatIsAskedFor() {
        #expect(ValkeyValue.integer(7).integer == 7)
        #expect(ValkeyValue.bytes(Array("-7".utf8)).integer == -7)
        #expect(ValkeyValue.bytes(Array("7a".utf8)).integer == nil)
        #expect(ValkeyValue.double(7).integer == nil && ValkeyValue.boolean(true).integer == nil)
        #expect(ValkeyValue.bytes([7]).bytes == [7] && ValkeyValue.integer(7).bytes == nil)
        #expect(ValkeyValue.array([.null]).array == [.null] && ValkeyValue.null.array == nil)
    }

    @Test func defaultsOfTheConfigurationAreThoseOfTheGuide() {
        let configuration = ValkeyConfiguration()
        #expect(configuration.tls == nil && configuration.user == nil && configuration.password == nil)
        #expect(configuration.database == 0)
        #expect(configuration.timeout == .milliseconds(50) && configuration.connectTimeout == .seconds(1))
        #expect(configuration.maximumPending == 10_000 && configuration.maximumReplySize == 64 << 20)
        #expect("\(configuration.backoff)" == "0.05 seconds to 2.0 seconds, equal jitter")
    }

    @Test func settingsAreThoseOfTheInitializer() {
        let configuration = ValkeyConfiguration(
            tls: .makeClientConfiguration(),
            user: "app",
            password: "secret",
            database: 3,
            timeout: .seconds(1),
            connectTimeout: .seconds(2),
            backoff: .immediate,
            maximumPending: 4,
            maximumReplySize: 5
        )
        #expect(configuration.tls != nil && configuration.user == "app" && configuration.password == "secret")
        #expect(configuration.timeout == .seconds(1) && configuration.connectTimeout == .seconds(2))
        #expect([configuration.database, configuration.maximumPending, configuration.maximumReplySize] == [3, 4, 5])
        #expect("\(configuration.backoff)" == "\(Backoff.immediate)")
    }

    @Test func literalsAreValues() {
        #expect(ValkeyValue(integerLiteral: 7) == .integer(7))
    }

    @Test func errorsHaveAKindForEachCode() {
        #expect(ValkeyError(reply: "OOM command not allowed").kind == .reply)
        #expect(ValkeyError(reply: "NOPERM no permissions").kind == .accessDenied)
        // A script may return any text.
        #expect(ValkeyError(reply: "something is wrong").code == "ERR")
        #expect(ValkeyError(reply: "").code == "ERR")
        #expect(ValkeyError(reply: String(repeating: "A", count: 10_000)).message?.count == 512)
    }

    @Test func descriptionOfAnErrorOmitsTheTextOfTheServer() {
        let error = ValkeyError(.reply, code: "ERR", message: "unknown command, with args beginning with: 'secret'")
        #expect("\(error)" == "reply (ERR)")
        #expect(!String(reflecting: error).contains("secret"))
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("secret"))
    }

    @Test(.requires(.valkey)) func serverOfTheTestsAcceptsCommands() async throws {
        try await withValkeyServer { server in
            #expect(try server.command("PING") == "+PONG\r\n")
            #expect(try server.command("SET", "key", "value") == "+OK\r\n")
            try await server.restart()
            #expect(try server.command("GET", "key") == "$-1\r\n")
            server.kill()
            #expect(throws: (any Error).self) { try server.command("PING") }
        }
    }
}
#endif
