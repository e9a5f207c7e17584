#if Valkey
import NetworkingValkey
import TestSupport
import Testing

@Suite struct ValkeyCommandsTests {
    @Test func scriptHasTheNameThatTheServerGivesIt() async throws {
        // From the documentation of EVALSHA.
        #expect(ValkeyScript("return 'foo'").sha1 == "cf63a54c34e159e75e5a3fe4794bb2ea636ee005")
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
