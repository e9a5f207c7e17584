import Foundation
import HTTPTypes
import Networking
import Testing

@testable import NetworkingTransfers

/// File names that servers suggest, and their sanitized forms.
@Suite struct FileNameTests {
    /// Each case has a `Content-Disposition` value and the resulting name.
    @Test(
        arguments: [
            ("attachment; filename=report.pdf", "report.pdf"),
            ("attachment; filename=\"a report.pdf\"", "a report.pdf"),
            ("attachment; FileName=\"x\\\"y.txt\"", "x_y.txt"),
            ("inline; filename=\"x.txt\"; filename*=UTF-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
            ("inline; filename*=utf-8'en'%C3%A9t%C3%A9.txt; filename=\"x.txt\"", "été.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
            ("attachment; filename*=UTF-8''%ff%fe; filename=fallback", "fallback"),
            ("attachment; filename*=koi8-r''%c1; filename=fallback", "fallback"),
            ("attachment; filename*=UTF-8''%4; filename=fallback", "fallback"),
            ("attachment; filename*=nonsense; filename=fallback", "fallback"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=\"/etc/passwd\"", "passwd"),
            ("attachment; filename=\"C:\\\\Windows\\\\system.ini\"", "system.ini"),
            ("attachment; filename=\"%2e%2e%2fsecret\"", "%2e%2e%2fsecret"),
            ("attachment; filename=\"100%25.txt\"", "100%25.txt"),
            ("attachment; filename*=UTF-8''100%25.txt; filename=\"x\"", "100%.txt"),
            ("attachment; filename = \"a b.txt\"", "a b.txt"),
            ("attachment; filename= \"a b.txt\"", "a b.txt"),
            ("attachment; filename =\"a b.txt\"", "a b.txt"),
            ("attachment; filename\t=\t\"a b.txt\" ; x=y", "a b.txt"),
            ("attachment; filename = a.txt", "a.txt"),
            ("attachment; filename=my annual report.pdf", "my annual report.pdf"),
            ("attachment; filename=my annual report.pdf ; size=7", "my annual report.pdf"),
            ("attachment; filename* = UTF-8''a%20b.txt", "a b.txt"),
            ("attachment ;filename=a.txt", "a.txt"),
            ("attachment; filename*=UTF-8''..%2f..%2Fsecret", "secret"),
            ("attachment; filename=\"..\"", nil),
            ("attachment; filename=\"/\"", nil),
            ("attachment; filename=\"\"", nil),
            ("attachment; filename=\".ssh\"", "ssh"),
            ("attachment; filename=\"~root.txt\"", "root.txt"),
            ("attachment; filename*=UTF-8''%C2%A0~.%20x.txt", "x.txt"),
            ("attachment; filename=\"a\u{202E}fdp.exe\"", "afdp.exe"),
            ("attachment; filename=\"a\u{0}b\u{7F}c.txt\"", "abc.txt"),
            ("attachment; filename=\"a:b*c?.txt. \"", "a_b_c_.txt"),
            ("attachment; filename=\"NUL.txt\"", "_NUL.txt"),
            ("attachment; filename=\"com1\"", "_com1"),
            ("attachment; filename=z.mp4.download", "z.mp4.download_"),
            ("attachment; filename=Z.Download-State", "Z.Download-State_"),
            ("attachment; filename=\"\u{301}.bashrc\"", "bashrc"),
            ("attachment", nil),
            ("", nil),
        ] as [(String, String?)]
    )
    func suggestedNamesAreSanitized(disposition: String, name: String?) {
        #expect(FileName.suggested(by: disposition) == name)
    }

    @Test(
        arguments: [
            ("https://a.example/files/film.mp4?x=/y/z", "film.mp4"), ("https://a.example/", nil),
            ("https://a.example", nil),
            ("https://a.example/a%2Fb%20c.txt", "b c.txt"), ("https://a.example/dir/", "dir"),
            ("https://a.example/..%2f", nil),
        ] as [(String, String?)]
    )
    func urlProvidesTheNameWithoutContentDisposition(url: String, name: String?) throws {
        let request = HTTPRequestData(url: try #require(URL(string: url)))
        #expect(HTTPResponseData(request: request).suggestedFileName == name)
        let named = HTTPResponseData(request: request, headerFields: [.contentDisposition: "attachment; filename=x"])
        #expect(named.suggestedFileName == "x")
    }

    @Test func longNameKeepsItsExtension() throws {
        let name = try #require(FileName.safe(String(repeating: "é", count: 300) + ".tar.gz"))
        #expect(name.utf8.count <= 255 && name.hasSuffix("é.tar.gz"))
        let marks = try #require(FileName.safe("a" + String(repeating: "\u{301}", count: 130) + ".bashrc"))
        #expect(marks.unicodeScalars.first == "a" && marks.utf8.count <= 255)
        #expect(marks.unicodeScalars.suffix(7).elementsEqual(".bashrc".unicodeScalars))
        let plain = try #require(FileName.safe(String(repeating: "x", count: 300)))
        #expect(plain.utf8.count == 255)
        let device = try #require(FileName.safe("con." + String(repeating: "x", count: 300)))
        #expect(device.hasPrefix("_con.") && device.utf8.count == 255)
        let dotted = try #require(FileName.safe("a." + String(repeating: "x", count: 300)))
        #expect(dotted.utf8.count == 255)
    }

    /// Where a name is cut, it would end with what was removed or changed before.
    @Test(
        arguments: [
            (250, ".download and more text"), (246, ".download and more text"), (247, ".download and more text"),
            (254, " and more text"), (254, ". and more text"), (246, ".upload-lock"),
        ]
    )
    func shortenedNameIsHarmless(count: Int, end: String) throws {
        let name = try #require(FileName.safe(String(repeating: "a", count: count) + end))
        #expect(name.utf8.count <= 255 && !name.hasSuffix(".download") && !name.hasSuffix(" ") && !name.hasSuffix("."))
        #expect(FileName.safe(name) == name)
    }

    @Test(arguments: [
        ("a.txt", "a", ".txt"), ("a.tar.gz", "a", ".tar.gz"), ("a", "a", ""), (".profile", ".profile", ""),
        ("a.b.c", "a.b", ".c"), ("Chapter 1. The beginning of it all", "Chapter 1. The beginning of it all", ""),
        (".tar.gz", ".tar", ".gz"),
    ])
    func extensionIsSeparatedFromTheName(name: String, stem: String, suffix: String) {
        let parts = FileName.parts(of: name[...])
        #expect(parts.stem == stem && parts.suffix == suffix)
    }
}
