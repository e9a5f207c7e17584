#if Crypto
import Testing

/// A case of AWS's test suite for Signature Version 4.
struct AWSVector: Sendable, CustomTestStringConvertible {
    let name: String
    var method = "GET"
    var path = "/"
    var query = ""
    var fields: [(name: String, value: String)] = []
    var body = ""
    var token: String?
    var isNormalized = true
    /// The value of X-Amz-Content-Sha256, if the case sends it.
    var sentPayload: String?
    let header: String
    var presigned: String?
    /// The reason why only the canonical form can be tested and not a whole request.
    var inexpressible: String?

    var testDescription: String {
        name
    }
}

// The requests and signatures of awslabs/aws-c-auth, tests/aws-signing-test-suite/v4 (Apache-2.0).
//
// Some signatures of the suite could not be read. They are taken from another case with the same request: the query
// form of get-vanilla and of the normalized paths (get-vanilla-query), post-header-key-case and the query form of
// post-sts-header-after (post-vanilla), the header form of post-vanilla-empty-query-value, the query forms of
// post-vanilla-query and get-space-unnormalized.
extension AWSVector {
    static let accessKeyID = "AKIDEXAMPLE"
    static let secretAccessKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    static let host = "example.amazonaws.com"

    static let all: [AWSVector] = headerCases + pathCases + queryCases + bodyCases + tokenCases + formerCases

    private static let headerCases = [
        AWSVector(
            name: "get-header-key-duplicate",
            fields: [("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1")],
            header: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
            presigned: "3349ee0b81b4b589da0ff28a395c3591e04de515651dd74f298fa992d1507a97"
        ),
        // One field on three lines, which HTTP no longer allows. The suite treats each line as a field.
        AWSVector(
            name: "get-header-value-multiline",
            fields: [("My-Header1", "value1"), ("My-Header1", "  value2"), ("My-Header1", "     value3")],
            header: "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790",
            presigned: "07f38a7bae261a5b2eec137361e6403c191bbf8e3f75466bb8114a08acd99936"
        ),
        AWSVector(
            name: "get-header-value-order",
            fields: [
                ("My-Header1", "value4"), ("My-Header1", "value1"), ("My-Header1", "value3"), ("My-Header1", "value2"),
            ],
            header: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
            presigned: "313720e71ca6202fdcfa9b20f88de01a4eb0638a83c833b1c184359a4eda864e"
        ),
        AWSVector(
            name: "get-header-value-trim",
            fields: [("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
            header: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            presigned: "e7bb0fd515e125e1aec2ecc4c0c17484fb06f6846b927c35e46005dd3df3acd4"
        ),
        // The case spells x-amz-date differently, which this library does not let a caller set.
        AWSVector(
            name: "post-header-key-case",
            method: "POST",
            header: postVanilla.header,
            presigned: postVanilla.presigned
        ),
        AWSVector(
            name: "post-header-key-sort",
            method: "POST",
            fields: [("My-Header1", "value1")],
            header: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
            presigned: "c09d07e0d55871f10f2a6d350d994acf6825a3cae70673d7def55616e6119dd7"
        ),
        AWSVector(
            name: "post-header-value-case",
            method: "POST",
            fields: [("My-Header1", "VALUE1")],
            header: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
            presigned: "0698bc9e4f7f9139065ba2909c0e99da257e8e2a42492a097bcd46d792391fed"
        ),
    ]

    private static let vanilla = (
        header: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        presigned: "e93c787ed7f371d5c6b165c1b38ede9550f4dce4144713e844b25b7192d3865d"
    )
    private static let postVanilla = (
        header: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        presigned: "2ce6e6d2e0cf2f9d1b55fafec88cd20574c31dc2e7631979f71ba2310083e95b"
    )
    private static let space = (
        header: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
        presigned: "7a1f416954786484c9824d93c1f26ef64acb9b1b6c9154d08c9f07d0e394abf6"
    )
    private static let alphabet = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    private static let pathCases =
        [
            ("get-vanilla", "/"), ("get-relative-normalized", "/example/.."),
            ("get-relative-relative-normalized", "/example1/example2/../.."), ("get-slash-dot-slash-normalized", "/./"),
            ("get-slash-normalized", "//"),
        ]
        .map { AWSVector(name: $0, path: $1, header: vanilla.header, presigned: vanilla.presigned) } + [
            AWSVector(
                name: "get-relative-unnormalized",
                path: "/example/..",
                isNormalized: false,
                header: "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282",
                presigned: "cbcb213b928a077e43275df47b500f1dfaa864ab3f5a18f6b95f4ff0938167ee"
            ),
            AWSVector(
                name: "get-relative-relative-unnormalized",
                path: "/example1/example2/../..",
                isNormalized: false,
                header: "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b",
                presigned: "b45db0bfd1cf15003493b733e33aa208dd981bd0e63037a6ed953f71d2118a16"
            ),
            AWSVector(
                name: "get-slash-dot-slash-unnormalized",
                path: "/./",
                isNormalized: false,
                header: "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145",
                presigned: "a9b13e8f3484d9505bf1a6f347219f8f35b0fe8f128ceea597efc146a3dfe90c"
            ),
            AWSVector(
                name: "get-slash-unnormalized",
                path: "//",
                isNormalized: false,
                header: "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e",
                presigned: "b2a9542809db687769200f56a844a03f2bd0291d6eb90232d5101c6a579446cd"
            ),
            AWSVector(
                name: "get-slash-pointless-dot-normalized",
                path: "/./example",
                header: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
                presigned: "35034b1a0bdd969f346975386daf8aedfd4976573b8348cf4f67eaa41c5857de"
            ),
            AWSVector(
                name: "get-slash-pointless-dot-unnormalized",
                path: "/./example",
                isNormalized: false,
                header: "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff",
                presigned: "72b11f16d9530b18204bfb71f2d6ab085894c0ed8d352730a6e76234c58b5e10"
            ),
            AWSVector(
                name: "get-slashes-normalized",
                path: "//example//",
                header: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
                presigned: "c1834e8fb0307243711f0f907f6ab7311ed300d87f13792d7ee4da89ab93e082"
            ),
            AWSVector(
                name: "get-slashes-unnormalized",
                path: "//example//",
                isNormalized: false,
                header: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5",
                presigned: "822a5a9ba28072c5ab2bb4a6307d0c88276d40e49fec6b724c03fb4d4ba60fc2"
            ),
            AWSVector(
                name: "get-space-normalized",
                path: "/example space/",
                header: space.header,
                presigned: space.presigned
            ),
            AWSVector(
                name: "get-space-unnormalized",
                path: "/example space/",
                isNormalized: false,
                header: space.header,
                presigned: space.presigned
            ),
            AWSVector(
                name: "get-unreserved",
                path: "/\(alphabet)",
                header: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
                presigned: "95968482db1b9e0fadef6efc1bd24689f77c77d9ef56919c96a28cc92e0d6005"
            ),
            AWSVector(
                name: "get-utf8",
                path: "/\u{1234}",
                header: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
                presigned: "10eae3f14a260bd3911cc6d008d3c576d143b05b62f09782a7a4b37f52178e44"
            ),
        ]

    private static let queryCases = [
        AWSVector(name: "get-vanilla-query", header: vanilla.header, presigned: vanilla.presigned),
        AWSVector(
            name: "get-vanilla-empty-query-key",
            query: "Param1=value1",
            header: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
            presigned: "49096700cbbaa5753443850f40df10f904fc2fdb544dc9512203cc77c471a9de"
        ),
        AWSVector(
            name: "get-vanilla-query-order-key-case",
            query: "Param2=value2&Param1=value1",
            header: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            presigned: "86012e2c9ad4d77369f5d81c11f75158aae4f895a085212cc6d3f923d300bed5"
        ),
        AWSVector(
            name: "get-vanilla-query-order-encoded",
            query: "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            header: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
            presigned: "c5f1848ceec943ac2ca68ee720460c23aaae30a2300586597ada94c4a65e4787"
        ),
        AWSVector(
            name: "get-vanilla-query-unreserved",
            query: "\(alphabet)=\(alphabet)",
            header: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
            presigned: "8e76a88a7433637b12778d5592799b29ad21ecd6cf6325051c21d86f0acda2bf"
        ),
        AWSVector(
            name: "get-vanilla-utf8-query",
            query: "\u{1234}=bar",
            header: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
            presigned: "0bdd809b1519ac4f0c1dc3540e2cc46bd0c7f778eda408b2ebf3b913d21ff600"
        ),
        AWSVector(
            name: "post-vanilla-empty-query-value",
            method: "POST",
            query: "Param1=value1",
            header: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
            presigned: "a9ef26247f293bffe40eeff86a0480ba8c14d31503b2e0c3399e3a16bf1a3682"
        ),
        AWSVector(
            name: "post-vanilla-query",
            method: "POST",
            query: "Param1=value1",
            header: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
            presigned: "a9ef26247f293bffe40eeff86a0480ba8c14d31503b2e0c3399e3a16bf1a3682"
        ),
    ]

    private static let formDigest = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
    private static let signsLength = "Content-Length belongs to the transport and is not signed"

    private static let bodyCases = [
        AWSVector(
            name: "post-vanilla",
            method: "POST",
            header: postVanilla.header,
            presigned: postVanilla.presigned
        ),
        AWSVector(
            name: "post-unsigned-payload",
            method: "POST",
            fields: [("Content-Length", "13")],
            body: "Param1=value1",
            sentPayload: "UNSIGNED-PAYLOAD",
            header: "9fb60e8938d2178a7d63b49e055d1e65d8f6226f38846e8e0293bf43ce29050c",
            presigned: "d5b951b200c7f96f239466b3e1978083ccd08678d4aea2b0bebaa6b2cf3d8c13",
            inexpressible: signsLength
        ),
        AWSVector(
            name: "post-x-www-form-urlencoded",
            method: "POST",
            fields: [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "13")],
            body: "Param1=value1",
            sentPayload: formDigest,
            header: "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
            presigned: "c2348f57d08c84939944d6c878b3f7be56316f8e7fd6817e81eded279a362d69",
            inexpressible: signsLength
        ),
        AWSVector(
            name: "post-x-www-form-urlencoded-parameters",
            method: "POST",
            fields: [
                ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"), ("Content-Length", "13"),
            ],
            body: "Param1=value1",
            sentPayload: formDigest,
            header: "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422",
            presigned: "1b8d9ac4ab8553a224622753bae7714608a7c61f8994dbd385150e6da12114df",
            inexpressible: signsLength
        ),
    ]

    private static let sessionToken =
        "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwth"
        + "Ax7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVX"
        + "AkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

    private static let tokenCases = [
        AWSVector(
            name: "get-vanilla-with-session-token",
            token: "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
            header: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
            presigned: "7ff2b50b376cb4d151970630573d6291dc128cc5c2a12ffb237f73cc53f67b6c"
        ),
        // The suite adds the token after signing, which this library does not do. The signature is the one without a
        // token.
        AWSVector(
            name: "post-sts-header-after",
            method: "POST",
            header: postVanilla.header,
            presigned: postVanilla.presigned
        ),
        AWSVector(
            name: "post-sts-header-before",
            method: "POST",
            fields: [("X-Amz-Security-Token", sessionToken)],
            header: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            presigned: "aca67b49ed321f377645504bccbd5a65f9085c536ff1961bc49c835d30827b16"
        ),
    ]

    /// Cases of the suite that AWS published before, without lengths and digests in the fields.
    private static let formerCases = [
        AWSVector(
            name: "get-vanilla-query-order-key, formerly",
            query: "Param1=value2&Param1=Value1",
            header: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"
        ),
        AWSVector(
            name: "get-vanilla-query-order-value, formerly",
            query: "Param1=value2&Param1=value1",
            header: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"
        ),
        AWSVector(
            name: "post-x-www-form-urlencoded, formerly",
            method: "POST",
            fields: [("Content-Type", "application/x-www-form-urlencoded")],
            body: "Param1=value1",
            header: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
        ),
        AWSVector(
            name: "post-x-www-form-urlencoded-parameters, formerly",
            method: "POST",
            fields: [("Content-Type", "application/x-www-form-urlencoded; charset=utf8")],
            body: "Param1=value1",
            header: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"
        ),
    ]
}
#endif
