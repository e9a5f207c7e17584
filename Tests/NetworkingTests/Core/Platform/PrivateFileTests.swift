import Networking
import Testing

struct PrivateFileTests {
    @Test(
        arguments: [
            ("/a/b", "/a"), ("/a/b/", "/a"), ("a/b", "a"), ("/a", "/"), ("/a/", "/"), ("/", nil), ("a", nil), ("", nil),
        ] as [(String, String?)]
    )
    func parentIsTheDirectoryOfAPath(path: String, parent: String?) {
        #expect(PrivateFile.parent(of: path) == parent)
    }
}
