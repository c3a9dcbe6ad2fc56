/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One HDF5 file written and read collectively: rows of a matrix, a block of them a rank, then
 * columns. Linked with the distribution's parallel HDF5 and its MPICH (tests/mpi/hdf5.sh).
 *
 *   hdf5 FILE
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_A_RANK = 256, COLUMNS = 512 };

static int rank, ranks;

static void must(hid_t status, const char *what)
{
    if (status >= 0)
        return;
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t collective(void)
{
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    must(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    return list;
}

/* Transfer of one block of the dataset; `move` is H5Dwrite's or H5Dread's part. */
static void transfer(hid_t data, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns,
                     int *values, int write)
{
    hsize_t start[2] = {row, column}, count[2] = {rows, columns};
    hid_t file = H5Dget_space(data), memory = H5Screate_simple(2, count, NULL), list = collective();
    must(H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL), "selection");
    if (write)
        must(H5Dwrite(data, H5T_NATIVE_INT, memory, file, list, values), "H5Dwrite");
    else
        must(H5Dread(data, H5T_NATIVE_INT, memory, file, list, values), "H5Dread");
    H5Pclose(list);
    H5Sclose(memory);
    H5Sclose(file);
}

static hid_t open_file(const char *path, int create)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list)
                        : H5Fopen(path, H5F_ACC_RDONLY, list);
    must(file, path);
    H5Pclose(list);
    return file;
}

static void write_rows(const char *path, int *values)
{
    hsize_t shape[2] = {(hsize_t) ranks * ROWS_A_RANK, COLUMNS};
    hid_t file = open_file(path, 1), space = H5Screate_simple(2, shape, NULL);
    hid_t data =
        H5Dcreate2(file, "matrix", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    must(data, "H5Dcreate2");
    for (int i = 0; i < ROWS_A_RANK * COLUMNS; i++)
        values[i] = rank * ROWS_A_RANK * COLUMNS + i;
    transfer(data, (hsize_t) rank * ROWS_A_RANK, 0, ROWS_A_RANK, COLUMNS, values, 1);
    H5Dclose(data);
    H5Sclose(space);
    must(H5Fclose(file), "H5Fclose");
}

/* Each rank reads its share of the columns, which all ranks have written. */
static long read_columns(const char *path, int *values)
{
    int width = COLUMNS / ranks, first = rank * width;
    hid_t file = open_file(path, 0), data = H5Dopen2(file, "matrix", H5P_DEFAULT);
    must(data, "H5Dopen2");
    transfer(data, 0, (hsize_t) first, (hsize_t) ranks * ROWS_A_RANK, (hsize_t) width, values, 0);
    long wrong = 0;
    for (int row = 0; row < ranks * ROWS_A_RANK; row++)
        for (int column = 0; column < width; column++)
            wrong += values[row * width + column] != row * COLUMNS + first + column;
    H5Dclose(data);
    must(H5Fclose(file), "H5Fclose");
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *values = malloc(sizeof(*values) * ROWS_A_RANK * COLUMNS);
    if (argc != 2 || !values)
        MPI_Abort(MPI_COMM_WORLD, 2);
    write_rows(argv[1], values);
    long wrong = read_columns(argv[1], values), all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld wrong values of %d\n", all, ranks * ROWS_A_RANK * COLUMNS);
    free(values);
    MPI_Finalize();
    return all != 0;
}
