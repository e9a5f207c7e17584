#if SQLite
import Foundation
import NetworkingSQLite
import Testing

/// What an app shows its user of a cache's file.
@Suite
struct SQLiteErrorTextTests {
    private static let file = URL(filePath: "/home/emily/responses.sqlite")

    @Test(arguments: [
        SQLiteCacheError.damaged(movedTo: file), .damaged(movedTo: nil), .newer(file: file, format: 9),
        .full(file: file), .busy(file: file), .unusable(reason: "\(file.path) is a directory."),
    ])
    func theUserReadsNoFileName(error: SQLiteCacheError) {
        #expect(error.errorDescription == "Saved data could not be read or written.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
        #expect(error.description != error.errorDescription)
    }
}
#endif
