//! Maps SQLite errors to [`StoreError`].

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::error::StoreError;

pub(super) fn to_store_error(path: &Path, error: Error) -> StoreError {
    let detail = error.to_string();
    let Error::SqliteFailure(code, _) = &error else {
        return match error {
            Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) => {
                StoreError::malformed("a row", detail)
            }
            _ => StoreError::Database(detail),
        };
    };
    let path = path.to_owned();
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy(detail),
        ErrorCode::DiskFull => StoreError::Full(detail),
        ErrorCode::ReadOnly => StoreError::ReadOnly(detail),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt { path, detail },
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure => {
            StoreError::Io { path, detail }
        }
        _ => StoreError::Database(detail),
    }
}
