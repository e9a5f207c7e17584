// The type is internal, and its parsing decides which server gets credentials.
import Networking
import Testing

@testable import NetworkingCore

@Suite
struct AuthorityTests {
    @Test(
        arguments: [
            ("example.com", nil, "example.com", nil),
            ("example.com:80", nil, "example.com", "80"),
            ("example.com:", nil, "example.com", ""),
            ("a:b@example.com:80", "a:b", "example.com", "80"),
            ("a@b@c", "a@b", "c", nil),
            ("@c", "", "c", nil),
            ("[::1]", nil, "::1", nil),
            ("[::1]:80", nil, "::1", "80"),
            ("a@[::1]:80", "a", "::1", "80"),
            ("[::1]80", nil, "[", ":1]80"),
            ("[::1", nil, "[", ":1"),
            ("", nil, "", nil),
            (":", nil, "", ""),
        ] as [(String, String?, String, String?)]
    )
    func splitsUserinfoHostAndPort(text: String, userinfo: String?, host: String, portText: String?) {
        let authority = Authority(text)
        #expect(authority.userinfo.map { String($0) } == userinfo)
        #expect(authority.host == host)
        #expect(authority.portText.map { String($0) } == portText)
    }

    @Test(
        arguments: [
            ("h:0", 0), ("h:80", 80), ("h:65535", 65_535), ("h:65536", nil), ("h:-1", nil), ("h:", nil), ("h", nil),
            ("h:+80", nil), ("h:-0", nil), ("h: 80", nil), ("h:8o", nil), ("h:٨٠", nil),
            ("h:99999999999999999999", nil), ("h:00080", 80),
        ] as [(String, Int?)]
    )
    func portHasDigitsOnly(text: String, port: Int?) {
        #expect(Authority(text).port == port)
    }

    @Test(arguments: [
        ("example.com", true), ("EXAMPLE-1_x.com.", true), ("127.0.0.1", true), ("[::1]", true), ("münchen.de", true),
        ("xn--mnchen-3ya.de", true), ("[fe80::1%25eth0]", true), ("[::ffff:1.2.3.4]", true), ("a%20b", false),
        ("evil.com%00.example.com", false), ("evil.com%2F.example.com", false), ("%61pi.example.com", false),
        ("m%C3%BCnchen.de", false), ("[fe80::1%25]", false), ("[fe80::1%eth0]", false), ("[fe80::1%2500%00]", false),
        ("[::1%00.example.com]", false), ("[x::1]", false), ("[v1.a:b]", false),
        ("", false), (":80", false), ("exa mple.com", false), ("example.com/path", false), ("example.com?q", false),
        ("a#b", false), ("a\\b", false), ("<a>", false), ("[::1", false), ("a[b]", false), ("[]", false),
        ("[localhost]", false), ("[127.0.0.1]", false), ("a\u{1B}b", false), ("a\tb", false), ("*", false),
    ])
    func validatesTheHost(text: String, isValid: Bool) {
        #expect(Authority(text).hasValidHost == isValid)
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", true), ("localhost:8080", true), ("api.localhost", false),
        ("127.0.0.1", true), ("127.0.0.1:80", true), ("127.255.255.254", true), ("[::1]", true), ("[::1]:80", true),
        ("localhost.example.com", false), ("notlocalhost", false), ("127.0.0.1.example.com", false),
        ("127.example.com", false), ("127.0.0.256", false), ("127.0.0", true), ("127.0.0.1.", false),
        ("128.0.0.1", false), ("0.0.0.0", false), ("10.0.0.1", false), ("192.168.0.1", false), ("[::2]", false),
        ("[::]", false), ("[fe80::1]", false), ("example.com", false), ("localhost@example.com", false), ("", false),
        ("evil.com%00.localhost", false), ("evil.com/.localhost", false), ("127.0.0.%31", false),
        ("127.1", true), ("2130706433", true), ("0x7f.1", true), ("0177.0.0.1", true), ("0x7F000001:80", true),
        ("[::ffff:127.0.0.1]", true), ("[0:0:0:0:0:0:0:1]", true), ("[::0001]", true), ("[::1%25lo]", true),
        ("localhost.", false), ("128.1", false), ("3232235777", false), ("[::ffff:10.0.0.1]", false),
        ("127.0.0.1 x", false), ("127.0.0.1%31", false), ("127.0.0.1\0", false),
    ])
    func recognizesLoopbackHosts(text: String, isLoopback: Bool) {
        #expect(Authority(text).isLoopback == isLoopback)
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("a.localhost.", true), ("127.1", true),
        ("2130706433", true), ("127.0.0.1.", true), ("[::ffff:127.0.0.1]", true), ("0.0.0.0", true), ("0", true),
        ("[::]", true), ("[::127.0.0.1]", true), ("[64:ff9b::7f00:1]", true), ("[2002:7f00:1::]", true),
        ("%6cocalhost", true), ("ｌocalhost", true), ("ip6-loopback", true), ("localhost.example.com", false),
        ("example.com", false), ("10.0.0.1", false), ("[::2]", false), ("[2001:db8::1]", false), ("", false),
    ])
    func recognizesHostsThatMayLeadToThisMachine(text: String, isThisMachine: Bool) {
        #expect(Authority(text).mayNameThisMachine == isThisMachine)
    }

    @Test(arguments: [
        ("10.0.0.1", true), ("10.1", true), ("172.16.0.1", true), ("172.31.255.255", true), ("172.32.0.1", false),
        ("192.168.1.1", true), ("3232235777", true), ("169.254.169.254", true), ("100.64.0.1", true),
        ("100.128.0.1", false), ("[fe80::1%25eth0]", true), ("[fd00::1]", true), ("[fc00::1]", true),
        ("[fec0::1]", true), ("[::ffff:192.168.0.1]", true), ("[64:ff9b::a00:1]", true), ("[2002:c0a8:1::]", true),
        ("192.168.1.1.", true), ("8.8.8.8", false), ("[2001:db8::1]", false), ("example.com", false),
    ])
    func recognizesAddressesOfPrivateNetworks(text: String, isPrivate: Bool) {
        #expect(Authority(text).isInPrivateNetwork == isPrivate)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.0", 8, true), ("128.0.0.1", "127.0.0.0", 8, false), ("10.0.0.1", "0.0.0.0", 0, true),
        ("10.0.0.1", "10.0.0.1", 32, true), ("10.0.0.1", "10.0.0.1", 33, false), ("::1", "::1", 128, true),
        ("::1", "::", 64, true), ("::1", "::", 128, false), ("fe80::1", "fe80::", 10, true),
        ("::1", "127.0.0.1", 0, false),
        ("10.0.0.1", "10.0.0.1", -1, false),
    ])
    func comparesNetworks(address: String, network: String, bits: Int, isIn: Bool) throws {
        let (address, network) = (try #require(HostAddress(address)), try #require(HostAddress(network)))
        #expect(address.isIn(network, bits: bits) == isIn)
    }
}

/// The comparison of authorities, of which most are normalised already.
struct AuthorityKeyTests {
    @Test func onlyNormalisedAuthoritiesStayAsTheyAre() {
        // One expectation for all, because each takes longer than the comparison.
        var wrong: [String] = []
        for count in [0, 1, 7, 8, 9, 16, 17] {
            for position in Set([0, 7, 8, count - 1]) where (0..<max(1, count)).contains(position) {
                for byte in UInt8(1)...0x7F {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                    if count > 0 { bytes[position] = byte }
                    let text = String(decoding: bytes, as: UTF8.self)
                    if AuthorityKey(text).text != text.lowercased() { wrong.append(text) }
                }
            }
        }
        #expect(wrong == [])
        #expect(AuthorityKey("Ä.example").text == "ä.example")
        #expect(AuthorityKey("aaaaaaaa.example:443").text == "aaaaaaaa.example")
        #expect(AuthorityKey("a:443").text == "a")
        #expect(AuthorityKey("a:80", isPlain: true).text == "a")
        #expect(AuthorityKey("a:8080", isPlain: true).text == "a:8080")
    }
}
